// A new crawl: ten settings that matter, the rest as TOML. It is checked before it begins.

import { post } from "../api.js";
import { h, say } from "../dom.js";
import { address } from "../router.js";

const FIELDS = [
  ["name", "Name", "text", { placeholder: "the host of the first seed", maxlength: 64 }, "Of the crawl, and of its directory."],
  ["scope", "Scope", ["host", "prefix", "domain", "any"], {}, "What is followed: the hosts of the seeds, what lies below the seeds, their domains, or anything."],
  ["contact", "Contact", "text", { placeholder: "you@example.org" }, "Sites see it, and can complain. Needed for public sites."],
  ["max_pages", "Pages at most", "number", { min: 0, placeholder: "no limit" }],
  ["max_seconds", "Seconds at most", "number", { min: 0, placeholder: "no limit" }],
  ["max_depth", "Depth at most", "number", { min: 0, placeholder: "as by default" }, "Links from a seed."],
  ["delay_s", "Delay", "number", { min: 0, step: "any", placeholder: "1" }, "Seconds between two requests to a host."],
  ["share", "Share", "number", { min: 0.01, max: 100, step: "any", placeholder: "1" }, "Of the machines, against the other crawls."],
  ["exclude", "Leave out", "textarea", { rows: 2, placeholder: "/login\n\\.zip$" }, "Regular expressions, one a line."],
  ["requisites", "Archive what pages need", "checkbox", {}, "Style sheets, images, scripts, fonts: so that the archive looks right."],
];
const NUMBERS = new Set(["max_pages", "max_seconds", "max_depth", "delay_s", "share"]);

export const fresh = {
  name: "new",
  title: "New crawl",
  of: "station",
  role: "crawl",
  when: (known) => known.can_start,
  open(root, place) {
    const seeds = h("textarea", { id: "new-seeds", class: "field", rows: 4, required: true, spellcheck: "false", placeholder: "https://docs.example.org/" });
    const toml = h("textarea", { id: "new-toml", class: "field mono", rows: 5, spellcheck: "false", placeholder: "[summary]\ndepth = \"full\"" });
    const inputs = Object.fromEntries(FIELDS.map(([name, , kind, options]) => [name, field(name, kind, options)]));
    const error = h("p", { class: "error", role: "alert", id: "new-error" });
    const checked = h("div", { id: "new-checked", role: "status" });
    const wanted = () => {
      const body = { seeds: lines(seeds.value), toml: toml.value };
      for (const [name, input] of Object.entries(inputs)) {
        if (input.type === "checkbox") body[name] = input.checked;
        else if (name === "exclude") body[name] = lines(input.value);
        else if (input.value.trim()) body[name] = NUMBERS.has(name) ? Number(input.value) : input.value.trim();
      }
      return body;
    };
    const check = async () => {
      say(error, "");
      checked.replaceChildren();
      try {
        const found = await post("/api/check", wanted());
        checked.replaceChildren(h("p", {}, `This would begin “${found.name}” with ${found.seeds.length === 1 ? "this seed" : `these ${found.seeds.length} seeds`}:`),
          h("ul", { class: "plain mono" }, ...found.seeds.slice(0, 20).map((seed) => h("li", {}, seed))),
          h("dl", { class: "facts" }, ...Object.entries(found.settings).map(([key, value]) => h("div", {}, h("dt", {}, key), h("dd", {}, value)))));
        return true;
      } catch (failure) {
        say(error, failure.message);
        return false;
      }
    };
    const begin = async (event) => {
      event.preventDefault();
      say(error, "");
      try {
        const { id, place: at } = await post("/api/new", wanted());
        place.toast(at ? `In the queue at place ${at}.` : "The crawl begins.");
        location.hash = address(id, "overview");
      } catch (failure) {
        say(error, failure.message);
      }
    };
    root.append(h("h2", { class: "view-title" }, "New crawl"),
      h("form", { class: "card new-crawl", onsubmit: begin, id: "new-crawl" },
        h("div", { class: "wide-field" }, h("label", { for: "new-seeds" }, "Seeds"), seeds, h("p", { class: "muted" }, "URLs, one a line.")),
        ...FIELDS.map(([name, label, kind, , help]) => h("div", { class: kind === "textarea" ? "wide-field" : kind === "checkbox" ? "check-field" : "" },
          h("label", { for: `new-${name}` }, label), inputs[name], help ? h("p", { class: "muted" }, help) : null)),
        h("div", { class: "wide-field" }, h("details", {}, h("summary", {}, "All other settings, as TOML"), h("label", { for: "new-toml", class: "spoken" }, "Settings as TOML"), toml)),
        h("div", { class: "wide-field" }, error, checked,
          h("div", { class: "actions" }, h("button", { type: "button", class: "button", onclick: check }, "Check"), h("button", { type: "submit", class: "button primary" }, "Begin")))));
  },
};

const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);

function field(name, kind, options) {
  const id = `new-${name}`;
  if (Array.isArray(kind)) return h("select", { id, class: "field" }, ...kind.map((value) => h("option", { value }, value)));
  if (kind === "textarea") return h("textarea", { id, class: "field mono", spellcheck: "false", ...options });
  return h("input", { id, type: kind, class: kind === "checkbox" ? "" : "field", autocomplete: "off", ...options });
}
