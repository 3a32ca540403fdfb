// The pages of a crawl: a table with filters, of whatever was gathered. The filters are in the address.

import { get } from "../api.js";
import { h, keep, say } from "../dom.js";
import { ago, bytes, count } from "../format.js";
import { replace } from "../router.js";

const PER_PAGE = 50;
const WAIT_MS = 250;
/** filter → its label */
const FILTERS = { kind: "What", host: "Host", status: "Status", type: "Type", language: "Language", change: "Change", failure: "Failure", session: "Session" };
const ORDERS = { newest: "Newest first", oldest: "Oldest first", url: "By URL", title: "By title", largest: "Largest first", status: "By status" };

export const pages = {
  name: "pages",
  title: "Pages",
  of: "crawl",
  open(root, place) {
    const chosen = Object.fromEntries(place.query);
    const text = h("input", { type: "search", class: "field grow", "aria-label": "Text in the URL or the title", placeholder: "Text in URL or title…", value: chosen.text ?? "" });
    const order = select("Order", Object.entries(ORDERS), chosen.order || "newest", (value) => choose("order", value === "newest" ? "" : value));
    const filters = h("div", { class: "filters" });
    const total = h("p", { class: "muted note", role: "status" });
    const rows = h("tbody");
    const table = h("table", { class: "table found", id: "found" },
      h("caption", { class: "spoken" }, "What was gathered"),
      h("thead", {}, h("tr", {}, ...["Page", "Status", "Type", "Size", "Change", "Fetched"].map((name, at) =>
        h("th", { scope: "col", class: at === 1 || at === 3 ? "number" : null }, name)))), rows);
    const empty = h("p", { class: "empty", hidden: true }, "Nothing was found for these filters.");
    const more = h("nav", { class: "pager", "aria-label": "Pages of the list" });
    root.append(
      h("h2", { class: "view-title" }, "Pages"),
      h("form", { class: "card filter-card", role: "search", onsubmit: (event) => event.preventDefault() }, h("div", { class: "filters" }, text, order), filters),
      h("section", { class: "card" }, total, h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "What was gathered" }, table), empty, more),
    );

    let timer;
    let asked = 0;
    function choose(name, value) {
      if (value) chosen[name] = value;
      else delete chosen[name];
      if (name !== "offset") delete chosen.offset;
      replace(place.crawl, "pages", chosen);
      load();
    }
    text.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => choose("text", text.value.trim()), WAIT_MS);
    });

    async function load() {
      clearTimeout(timer);
      const mine = ++asked;
      const offset = Number(chosen.offset) || 0;
      try {
        const found = await get(`${place.api("urls")}?${new URLSearchParams({ ...chosen, limit: PER_PAGE })}`);
        if (mine !== asked) return;
        const last = Math.min(offset + found.urls.length, found.total);
        say(total, found.total ? `${count(offset + 1)}–${count(last)} of ${count(found.total)}${found.complete ? "" : ", and more are being counted"}` : "");
        empty.hidden = found.urls.length > 0;
        table.hidden = !found.urls.length;
        show(rows, found.urls, place);
        more.replaceChildren(
          ...[[offset > 0, "‹ Before", offset - PER_PAGE], [last < found.total, "Next ›", offset + PER_PAGE]].map(([is, name, to]) =>
            h("button", { type: "button", class: "button", disabled: !is, onclick: () => { choose("offset", String(Math.max(to, 0))); scrollTo(0, 0); } }, name)));
        more.hidden = found.total <= PER_PAGE;
        if (!found.complete || (place.isRunning() && !offset)) timer = setTimeout(load, found.complete ? 4000 : 1000);
      } catch (error) {
        if (mine === asked) say(total, error.message);
      }
    }
    async function loadFacets() {
      try {
        const { facets } = await get(place.api("facets"));
        filters.replaceChildren(...Object.entries(FILTERS)
          .filter(([name]) => (facets[name]?.length ?? 0) > 1 || chosen[name])
          .map(([name, label]) => {
            const options = facets[name].map(({ value, urls }) => [value, `${value} (${count(urls)})`]);
            if (chosen[name] && !options.some(([value]) => value === chosen[name])) options.unshift([chosen[name], chosen[name]]);
            return select(label, [["", `${label}: all`], ...options], chosen[name] ?? "", (value) => choose(name, value));
          }));
      } catch {
        // the table says what is wrong
      }
    }
    load();
    loadFacets();
    return () => {
      asked++;
      clearTimeout(timer);
    };
  },
};

export function select(label, options, chosen, changed) {
  const box = h("select", { class: "field", "aria-label": label }, ...options.map(([value, text]) => h("option", { value, selected: value === chosen }, text)));
  box.addEventListener("change", () => changed(box.value));
  return box;
}

function show(rows, urls, place) {
  const now = Date.now() / 1000;
  keep(rows, urls, (row) => row.url,
    (row) => h("tr", {},
      h("th", { scope: "row" },
        h("a", { href: place.link("page", { url: row.url }), class: "found-title" }),
        h("span", { class: "found-url" }, row.url)),
      h("td", { class: "number" }, h("span", { class: "status" })),
      h("td"), h("td", { class: "number" }), h("td"), h("td")),
    (node, row) => {
      const cells = node.children;
      say(cells[0].firstElementChild, row.title || row.url);
      const status = cells[1].firstElementChild;
      status.dataset.kind = row.kind;
      say(status, row.kind === "failure" ? row.failure : String(row.status));
      say(cells[2], row.type || "–");
      say(cells[3], row.bytes ? bytes(row.bytes) : "–");
      say(cells[4], row.change || "–");
      say(cells[5], ago(row.at, now));
    });
}
