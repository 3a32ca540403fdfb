// The crawls of the station: how each stands, and the way to it.

import { get } from "../api.js";
import { h, keep, say } from "../dom.js";
import { ago, brief, count, percent } from "../format.js";
import { address } from "../router.js";

const AGAIN_MS = 2000;

export const crawls = {
  name: "crawls",
  title: "Crawls",
  of: "station",
  when: (known) => known.can_start || known.crawls.length !== 1,
  open(root) {
    const list = h("ul", { id: "crawl-list", class: "crawl-list" });
    const none = h("p", { class: "empty", hidden: true }, "No crawls here yet.");
    root.append(h("h2", { class: "view-title" }, "Crawls"), none, list);
    let timer;
    const load = async () => {
      try {
        const { crawls: rows } = await get("/api/crawls");
        none.hidden = rows.length > 0;
        show(list, rows);
      } catch {
        // the banner tells it
      }
      timer = setTimeout(load, AGAIN_MS);
    };
    load();
    return () => clearTimeout(timer);
  },
};

function show(list, rows) {
  const now = Date.now() / 1000;
  keep(list, rows, (row) => row.id,
    (row) => h("li", { class: "card" },
      h("a", { href: address(row.id, "overview"), class: "crawl-name" }, row.name || row.id),
      h("span", { class: "pill" }),
      h("span", { class: "progress small", "aria-hidden": "true" }, h("span", { class: "fill" })),
      h("p", { class: "crawl-figures" }),
      h("p", { class: "muted note" })),
    (node, row) => {
      const [, state, bar, figures, note] = node.children;
      state.dataset.state = row.state;
      say(state, row.place ? `${row.state}, ${row.place}.` : row.state);
      bar.firstElementChild.style.width = `${100 * row.explored}%`;
      bar.hidden = !row.explored;
      say(figures, row.error || [
        `${count(row.pages)} pages`,
        row.queued ? `${count(row.queued)} queued` : "",
        row.state === "running" ? `${brief(row.pages_per_s)} pages/s` : "",
        row.explored ? `${percent(row.explored)} done` : "",
        row.state === "running" ? row.left : "",
      ].filter(Boolean).join(" · "));
      say(note, [
        row.seed + (row.seeds > 1 ? ` and ${count(row.seeds - 1)} more` : ""),
        row.session > 1 ? `session ${row.session}` : "",
        row.owner ? `by ${row.owner}` : "",
        row.share !== 1 ? `share ${row.share}` : "",
        row.changed_at ? ago(row.changed_at, now) : "",
        row.next_at ? `next session ${new Date(row.next_at * 1000).toLocaleString()}` : "",
      ].filter(Boolean).join(" · "));
    });
}
