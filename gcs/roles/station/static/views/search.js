// Search: a box, facets that narrow it, results with excerpts. What was asked is in the address, so it can be kept.

import { get } from "../api.js";
import { h, link } from "../dom.js";
import { count } from "../format.js";

const MOST = 10;
const FACETS = { site: "Site", lang: "Language", type: "Type" };
const HINT = '"two words"  title:word  site:example.org  lang:en  type:pdf  date:2024..2025  -not  a OR b';

export const search = {
  name: "search",
  title: "Search",
  of: "crawl",
  open(root, place) {
    const asked = place.query.get("q") ?? "";
    const box = h("input", { type: "search", name: "q", value: asked, "aria-label": "Search the pages of this crawl", autocomplete: "off", spellcheck: "false", maxlength: "2000" });
    const form = h("form", { class: "search-form", role: "search" }, box, h("button", { class: "button primary", type: "submit" }, "Search"));
    const answer = h("div", { class: "search-answer", "aria-live": "polite" });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const wanted = box.value.trim();
      if (wanted && wanted === asked) load(answer, place, asked, 0); // the address stays, but there may be more now
      else place.go("search", { q: wanted });
    });
    root.append(h("h2", { class: "view-title" }, "Search"), form, h("p", { class: "muted note search-hint" }, HINT), answer);
    if (asked) load(answer, place, asked, Number(place.query.get("skip")) || 0);
    else box.focus();
  },
};

async function load(answer, place, asked, skip) {
  answer.replaceChildren(h("p", { class: "muted" }, "Searching…"));
  try {
    const query = new URLSearchParams({ q: asked, most: MOST, skip });
    show(answer, place, asked, skip, await get(`${place.api("search")}?${query}`));
  } catch (error) {
    answer.replaceChildren(h("p", { class: "error", role: "alert" }, error.message || "The station does not answer."));
  }
}

function show(answer, place, asked, skip, found) {
  const shown = found.pages.length;
  const range = shown && found.found > shown ? `, ${count(skip + 1)} to ${count(skip + shown)} shown` : "";
  const watch = h("a", { class: "button", href: place.link("profiles", { query: asked }) }, "Tell me of new ones");
  answer.replaceChildren(
    h("div", { class: "card-head" }, h("p", { id: "found" }, `${count(found.found)} page${found.found === 1 ? "" : "s"} found${range}`), watch),
    found.missing.length ? h("p", { class: "note", role: "status" }, `No answer from ${found.missing.join(", ")}: their pages are missing.`) : "",
    facets(place, asked, found.facets),
    h("ol", { class: "results", start: String(skip + 1) }, found.pages.map(result)),
    pager(place, asked, skip, shown),
  );
}

function result(page) {
  const facts = [page.site, page.type, page.lang, day(page.date), page.similar ? `and ${count(page.similar)} nearly the same` : ""];
  return h("li", { class: "result" },
    h("h3", {}, link(page.url, page.title || page.url)),
    h("p", { class: "result-url" }, page.url),
    h("p", {}, marked(page.excerpt, page.marks)),
    h("p", { class: "muted note" }, facts.filter(Boolean).join(" · ")));
}

/** The excerpt as text nodes, with the words of the query marked. Places are counted in characters, not in UTF-16. */
export function marked(text, marks) {
  const letters = [...text];
  const parts = [];
  let at = 0;
  for (const [begin, end] of marks) {
    if (begin < at) continue;
    parts.push(letters.slice(at, begin).join(""), h("mark", {}, letters.slice(begin, end).join("")));
    at = end;
  }
  return [...parts, letters.slice(at).join("")];
}

function facets(place, asked, told) {
  const groups = Object.entries(FACETS).filter(([name]) => (told[name] ?? []).length > 1);
  return h("div", { class: "facets" }, groups.map(([name, title]) =>
    h("div", { role: "group", "aria-label": title }, h("span", { class: "muted" }, `${title} `), told[name].slice(0, 6).map((each) =>
      h("a", { class: "facet", href: place.link("search", { q: `(${asked}) ${name}:"${each.value}"` }) }, `${each.value} ${count(each.pages)}`)))));
}

function pager(place, asked, skip, shown) {
  const to = (at, text) => h("a", { class: "button", href: place.link("search", { q: asked, skip: at || "" }) }, text);
  return h("p", { class: "pager" }, skip ? to(Math.max(skip - MOST, 0), "Before") : null, shown === MOST ? to(skip + MOST, "More") : null);
}

function day(number) {
  const text = String(number);
  return number ? `${text.slice(0, 4)}-${text.slice(4, 6)}-${text.slice(6)}` : "";
}
