// The settings in force: those that are not as by default first; and the seeds; and when sessions begin by the clock.

import { get, post } from "../api.js";
import { h, say } from "../dom.js";
import { count } from "../format.js";

export const settings = {
  name: "settings",
  title: "Settings",
  of: "crawl",
  open(root, place) {
    const body = h("div", { id: "settings" }, h("p", { class: "muted" }, "Reading…"));
    root.append(h("h2", { class: "view-title" }, "Settings in force"), body);
    get(place.api("settings")).then(
      (found) => body.replaceChildren(...shown(found), schedule(place)),
      (error) => body.replaceChildren(h("p", { class: "error" }, error.message), schedule(place)),
    );
  },
};

function shown({ settings: all, seeds, seed_count: total }) {
  const changed = all.filter((each) => each.changed);
  const text = h("input", { type: "search", class: "field grow", placeholder: "Find a setting…", "aria-label": "Find a setting" });
  const place = h("div");
  const fill = () => {
    const wanted = text.value.trim().toLowerCase();
    const found = wanted ? all.filter((each) => `${each.key} ${each.help}`.toLowerCase().includes(wanted)) : all;
    place.replaceChildren(table(found));
  };
  text.addEventListener("input", fill);
  fill();
  return [
    h("section", { class: "card" }, h("h3", {}, `Seeds (${count(total)})`), h("ul", { class: "plain mono" }, ...seeds.map((seed) => h("li", {}, seed))),
      total > seeds.length ? h("p", { class: "muted note" }, `And ${count(total - seeds.length)} more.`) : ""),
    h("section", { class: "card" }, h("h3", {}, "Chosen"), changed.length ? table(changed) : h("p", { class: "empty" }, "Everything is as by default.")),
    h("section", { class: "card" }, h("details", {}, h("summary", {}, `All ${count(all.length)} settings`), h("div", { class: "filters" }, text), place)),
  ];
}

const table = (rows) => h("dl", { class: "facts settings" }, ...rows.map((each) => h("div", {},
  h("dt", {}, each.key), h("dd", {}, h("code", {}, each.value || "none"), each.changed ? h("span", { class: "muted" }, ` instead of ${each.default || "none"}`) : null,
    h("p", { class: "muted" }, each.help)))));

/** When the next session begins; only a station of a folder has such calls. */
function schedule(place) {
  const card = h("section", { class: "card", hidden: true });
  get(place.api("schedule")).then((found) => {
    const input = h("input", { class: "field", id: "cron", placeholder: "0 3 * * *", value: found.cron, spellcheck: "false" });
    const note = h("p", { class: "muted note", role: "status" });
    const tell = (at) => say(note, at ? `The next session begins ${new Date(at * 1000).toLocaleString()}.` : "No session begins by itself.");
    const send = async (event) => {
      event.preventDefault();
      try {
        tell((await post(place.api("schedule"), { cron: input.value.trim() })).next_at);
      } catch (error) {
        say(note, error.message);
      }
    };
    tell(found.next_at);
    card.append(h("h3", {}, "Sessions by the clock"),
      h("form", { class: "filters", onsubmit: send }, h("label", { for: "cron" }, "Five fields of cron; empty for never"), input,
        h("button", { class: "button primary", type: "submit", disabled: !place.roles.includes("crawl") }, "Save")), note);
    card.hidden = false;
  }, () => {});
  return card;
}
