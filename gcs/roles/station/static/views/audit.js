// The audit log: who did what at this station.

import { get } from "../api.js";
import { h } from "../dom.js";

export const audit = {
  name: "audit",
  title: "Audit log",
  of: "station",
  role: "control",
  when: (known) => known.can_start,
  open(root) {
    const body = h("tbody");
    const note = h("p", { class: "muted note", role: "status" });
    root.append(h("h2", { class: "view-title" }, "Audit log"), note,
      h("section", { class: "card" }, h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Who did what" },
        h("table", { class: "table found", id: "audit" }, h("caption", { class: "spoken" }, "Who did what"),
          h("thead", {}, h("tr", {}, ...["When", "Who", "What", "Crawl", "Answer", "Details"].map((name) => h("th", { scope: "col" }, name)))), body))));
    get("/api/audit").then(
      ({ entries }) => {
        note.textContent = entries.length ? "" : "Nobody has done anything yet.";
        body.replaceChildren(...entries.map((each) => h("tr", {},
          h("th", { scope: "row" }, new Date(each.at * 1000).toLocaleString()), h("td", {}, each.who), h("td", {}, each.did), h("td", {}, each.crawl || "–"),
          h("td", {}, each.status === 202 ? "accepted" : `refused (${each.status})`), h("td", { class: "detail-cell" }, each.detail))));
      },
      (error) => (note.textContent = error.message),
    );
  },
};
