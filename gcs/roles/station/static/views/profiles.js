// Profiles: what people wait for, where it goes, and what has matched, live.

import { follow, get, post } from "../api.js";
import { h, link } from "../dom.js";
import { ago, count } from "../format.js";

const MOST = 50;
const EVENTS = ["new", "changed", "gone"];

export const profiles = {
  name: "profiles",
  title: "Profiles",
  of: "crawl",
  open(root, place) {
    const list = h("ul", { id: "profiles", class: "profiles" });
    const matches = h("ul", { id: "matches", class: "results", "aria-live": "polite" });
    const state = { chosen: place.query.get("profile") ?? "", stream: null, isLeft: false };
    const head = h("h2", { id: "matches-title" }, state.chosen ? `Matches of ${state.chosen}` : "Matches");
    const reload = () => loadProfiles(list, place, reload);
    root.append(
      h("h2", { class: "view-title" }, "Profiles"),
      h("p", { class: "muted" }, "A profile is told of each page that matches its query, as the page is stored."),
      place.roles.includes("control") ? form(place, reload) : h("p", { class: "muted note" }, "To add one, sign in with a token of the role control."),
      h("section", { class: "card", "aria-label": "Profiles" }, list),
      h("section", { class: "card", "aria-labelledby": "matches-title" },
        h("div", { class: "card-head" }, head,
          h("a", { class: "button", href: `${place.api("feed")}${state.chosen ? `?profile=${encodeURIComponent(state.chosen)}` : ""}` }, "Atom feed"),
          state.chosen ? h("a", { class: "button quiet", href: place.link("profiles") }, "All") : null),
        matches));
    reload();
    loadMatches(matches, place, state);
    return () => {
      state.isLeft = true;
      state.stream?.stop();
    };
  },
};

// -- what is waited for -------------------------------------------------------------------------------

async function loadProfiles(list, place, reload) {
  try {
    const { profiles: rows } = await get(place.api("profiles"));
    list.replaceChildren(...(rows.length ? rows.map((row) => item(row, place, reload)) : [h("li", { class: "empty" }, "No profiles yet.")]));
  } catch (error) {
    list.replaceChildren(h("li", { class: "error", role: "alert" }, error.message || "The station does not answer."));
  }
}

function item(row, place, reload) {
  const remove = h("button", { class: "button danger", type: "button", "aria-label": `Remove ${row.name}` }, "Remove");
  remove.addEventListener("click", async () => {
    try {
      await post(place.api("profiles/remove"), { name: row.name });
      place.toast(`${row.name} is removed.`);
      reload();
    } catch (error) {
      place.toast(error.message || "The station does not answer.", true);
    }
  });
  const words = row.least_words ? [`at least ${count(row.least_words)} words`] : [];
  return h("li", { class: "profile" },
    h("p", {}, h("a", { href: place.link("profiles", { profile: row.name }) }, row.name), " ", h("code", {}, row.query)),
    h("p", { class: "muted note" }, [...row.on, ...words, row.with_diff ? "with what changed" : ""].filter(Boolean).join(", ")),
    ...row.receivers.map((to) => h("p", { class: "note" }, `→ ${to.to}: ${count(to.waiting)} waiting${to.failures ? `, ${count(to.failures)} tries failed: ${to.problem}` : ""}`)),
    place.roles.includes("control") ? remove : null);
}

function form(place, reload) {
  const field = (name, label, given = {}) => h("label", {}, h("span", {}, label), h("input", { name, autocomplete: "off", spellcheck: "false", ...given }));
  const error = h("p", { class: "error", role: "alert" });
  const secret = h("p", { class: "note", role: "status" });
  const made = h("form", { class: "card profile-form" },
    h("h2", {}, "Add a profile"),
    field("name", "Name", { required: true, pattern: "[a-z0-9][a-z0-9._\\-]*", maxlength: "64", placeholder: "releases" }),
    field("query", "Query, as in Search", { required: true, maxlength: "2000", value: place.query.get("query") ?? "", placeholder: "release OR changelog" }),
    h("fieldset", {}, h("legend", {}, "When a page is"), EVENTS.map((name) =>
      h("label", { class: "check" }, h("input", { type: "checkbox", name: "on", value: name, checked: name !== "gone" }), ` ${name}`))),
    field("least_words", "Words that must have changed", { type: "number", min: "0", value: "0" }),
    h("label", { class: "check" }, h("input", { type: "checkbox", name: "with_diff" }), " with what has changed"),
    field("webhook", "Webhook (optional, a public address)", { type: "url", placeholder: "https://hooks.example.org/gcs" }),
    error, secret,
    h("div", { class: "actions" }, h("button", { class: "button primary", type: "submit" }, "Add")));
  made.addEventListener("submit", async (event) => {
    event.preventDefault();
    const data = new FormData(made);
    error.textContent = secret.textContent = "";
    const webhook = data.get("webhook").trim();
    try {
      const answer = await post(place.api("profiles"), {
        name: data.get("name").trim(), query: data.get("query").trim(), on: data.getAll("on"),
        least_words: Number(data.get("least_words")), with_diff: data.has("with_diff"), webhooks: webhook ? [webhook] : [],
      });
      place.toast(`Profile ${answer.name} is added.`);
      if (answer.secret) secret.textContent = `Secret of the webhook, shown this once: ${answer.secret}`;
      made.reset();
      reload();
    } catch (problem) {
      error.textContent = problem.message || "The station does not answer.";
    }
  });
  return made;
}

// -- what has matched ---------------------------------------------------------------------------------

async function loadMatches(list, place, state) {
  const of = state.chosen ? `&profile=${encodeURIComponent(state.chosen)}` : "";
  let last = 0;
  try {
    const { matches } = await get(`${place.api("matches")}?most=${MOST}${of}`);
    list.replaceChildren(...matches.map(match));
    last = matches[0]?.seq ?? 0;
  } catch {
    // the list of profiles tells it
  }
  if (state.isLeft) return;
  const known = new Set([...list.children].map((child) => child.dataset.id));
  state.stream = follow(`${place.api("matches/events")}?after=${last}${of}`, (topic, found) => {
    if (topic !== "match" || known.has(found.match.id)) return;
    known.add(found.match.id);
    list.prepend(match(found));
    if (list.children.length > MOST) list.lastElementChild.remove();
  }, () => {});
}

function match({ at, match: found }) {
  const diff = found.diff ? h("pre", { class: "diff" }, found.diff.split("\n").map((line) =>
    h(line.startsWith("+") ? "ins" : line.startsWith("-") ? "del" : "span", {}, `${line}\n`))) : null;
  return h("li", { class: "result", "data-id": found.id },
    h("h3", {}, link(found.url, found.title || found.url)),
    h("p", { class: "result-url" }, found.url),
    h("p", {}, found.excerpt),
    diff,
    h("p", { class: "muted note" }, `${found.profile} · ${found.event} · ${ago(at, Date.now() / 1000)}`));
}
