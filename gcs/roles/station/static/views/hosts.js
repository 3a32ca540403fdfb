// The hosts of a crawl: what was gathered of each, what waits, how fast, why it is slow; and its robots.txt.

import { get } from "../api.js";
import { h, keep, say } from "../dom.js";
import { ago, bytes, count } from "../format.js";
import { replace } from "../router.js";

const PER_PAGE = 50;
const AGAIN_MS = 3000;

export const hosts = {
  name: "hosts",
  title: "Hosts",
  of: "crawl",
  open(root, place) {
    const chosen = { text: place.query.get("text") ?? "", offset: Number(place.query.get("offset")) || 0 };
    const text = h("input", { type: "search", class: "field grow", "aria-label": "Text in the name of the host", placeholder: "Name of the host…", value: chosen.text });
    const total = h("p", { class: "muted note", role: "status" });
    const rows = h("tbody");
    const more = h("nav", { class: "pager", "aria-label": "Pages of the list" });
    root.append(h("h2", { class: "view-title" }, "Hosts"),
      h("form", { class: "card filter-card", role: "search", onsubmit: (event) => event.preventDefault() }, h("div", { class: "filters" }, text)),
      h("section", { class: "card" }, total,
        h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Hosts" },
          h("table", { class: "table found", id: "hosts" }, h("caption", { class: "spoken" }, "Hosts"),
            h("thead", {}, h("tr", {}, ...["Host", "Pages", "Errors", "Waiting", "Per minute", "Delay", "Why it is slow", "Size", "Last"].map((name, at) =>
              h("th", { scope: "col", class: (at > 0 && at < 6) || at === 7 ? "number" : null }, name)))), rows)), more));
    let timer;
    let asked = 0;
    const load = async () => {
      clearTimeout(timer);
      const mine = ++asked;
      try {
        const found = await get(`${place.api("hosts")}?${new URLSearchParams({ ...chosen, limit: PER_PAGE })}`);
        if (mine !== asked) return;
        say(total, `${count(found.total)} host${found.total === 1 ? "" : "s"}${found.complete ? "" : ", and more are being counted"}`);
        show(rows, found.hosts, place);
        const last = chosen.offset + found.hosts.length;
        more.hidden = found.total <= PER_PAGE;
        more.replaceChildren(...[[chosen.offset > 0, "‹ Before", -PER_PAGE], [last < found.total, "Next ›", PER_PAGE]].map(([is, name, step]) =>
          h("button", { type: "button", class: "button", disabled: !is, onclick: () => { chosen.offset = Math.max(chosen.offset + step, 0); go(); } }, name)));
        if (place.isRunning() || !found.complete) timer = setTimeout(load, AGAIN_MS);
      } catch (error) {
        if (mine === asked) say(total, error.message);
      }
    };
    const go = () => {
      replace(place.crawl, "hosts", { text: chosen.text, offset: chosen.offset || "" });
      load();
    };
    text.addEventListener("input", () => {
      chosen.text = text.value.trim();
      chosen.offset = 0;
      clearTimeout(timer);
      timer = setTimeout(go, 250);
    });
    load();
    return () => {
      asked++;
      clearTimeout(timer);
    };
  },
};

const told = (value, shown = count) => (value < 0 ? "–" : shown(value));

function show(rows, found, place) {
  const now = Date.now() / 1000;
  keep(rows, found, (row) => row.host,
    (row) => h("tr", {}, h("th", { scope: "row" }, h("a", { href: place.link("host", { host: row.host }), class: "found-title" }, row.host)),
      ...[1, 2, 3, 4, 5].map(() => h("td", { class: "number" })), h("td", { class: "reason" }), h("td", { class: "number" }), h("td")),
    (node, row) => {
      const cells = node.children;
      say(cells[1], count(row.pages));
      say(cells[2], count(row.failed));
      say(cells[3], told(row.queued));
      say(cells[4], row.rate ? String(Math.round(row.rate * 60)) : "–");
      say(cells[5], told(row.delay_s, (value) => `${Number(value.toFixed(2))} s`));
      say(cells[6], row.why ? `${row.why}${row.wait_s >= 1 ? `, next in ${Math.round(row.wait_s)} s` : ""}` : row.queued > 0 ? "" : "nothing waits");
      say(cells[7], bytes(row.bytes));
      say(cells[8], row.last_at ? ago(row.last_at, now) : "–");
    });
}

export const host = {
  name: "host",
  of: "crawl",
  under: "hosts",
  open(root, place) {
    const name = place.query.get("host") ?? "";
    const body = h("div", { id: "host" }, h("p", { class: "muted" }, "Reading…"));
    root.append(h("p", {}, h("a", { href: place.link("hosts"), class: "back" }, "‹ All hosts")), h("h2", { class: "view-title" }, name), body);
    get(`${place.api("host")}?${new URLSearchParams({ host: name })}`).then(
      ({ host: found, failures, robots }) => body.replaceChildren(
        h("section", { class: "card" }, h("dl", { class: "facts" }, ...[
          ["Pages", h("a", { href: place.link("pages", { host: name, kind: "page" }) }, count(found.pages))],
          ["Errors", found.failed ? h("a", { href: place.link("pages", { host: name, kind: "failure" }) }, count(found.failed)) : "0"],
          ["Redirects", count(found.redirects)], ["Size", bytes(found.bytes)], ["Waiting", told(found.queued)],
          ["Delay", told(found.delay_s, (value) => `${value} s`)], ["Why it is slow", found.why || "–"],
          ["First", found.first_at ? new Date(found.first_at * 1000).toLocaleString() : "–"],
          ["Last", found.last_at ? new Date(found.last_at * 1000).toLocaleString() : "–"],
        ].map(([title, value]) => h("div", {}, h("dt", {}, title), h("dd", {}, value))))),
        h("section", { class: "card" }, h("h3", {}, "Errors"),
          Object.keys(failures).length
            ? h("ul", { class: "chips" }, ...Object.entries(failures).map(([kind, urls]) => h("li", {}, h("a", { href: place.link("pages", { host: name, failure: kind }) }, `${kind} ${count(urls)}`))))
            : h("p", { class: "empty" }, "None.")),
        h("section", { class: "card" }, h("h3", {}, "robots.txt, as it is obeyed"),
          ...(robots.length ? robots.map(rules) : [h("p", { class: "empty" }, "None is kept here: it was not asked for, or lies with another gatherer.")])),
      ),
      (error) => body.replaceChildren(h("p", { class: "error" }, error.message)),
    );
  },
};

function rules(found) {
  const lines = [...found.rules, ...(found.crawl_delay_s === null ? [] : [`crawl-delay: ${found.crawl_delay_s}`]), ...found.sitemaps.map((url) => `sitemap: ${url}`)];
  return h("div", {}, h("p", { class: "muted note" }, `${found.origin}, until ${new Date(found.expires_at * 1000).toLocaleString()}`),
    h("pre", { class: "prose mono", tabindex: "0" }, lines.length ? lines.join("\n") : "everything is allowed"));
}
