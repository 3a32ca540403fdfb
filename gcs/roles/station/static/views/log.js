// The live log: a line for each URL that was stored, the newest first; and what the crawl's process says.

import { get } from "../api.js";
import { h, keep, say } from "../dom.js";
import { bytes, time } from "../format.js";

const AGAIN_MS = 2000;

export const log = {
  name: "log",
  title: "Log",
  of: "crawl",
  open(root, place) {
    const urls = h("ol", { class: "log", id: "log" });
    const process = h("pre", { class: "prose mono", tabindex: "0" });
    const said = h("section", { class: "card", hidden: true }, h("h3", {}, "What the crawl says"), process);
    const note = h("p", { class: "muted note", role: "status" });
    const stop = h("button", { type: "button", class: "button", "aria-pressed": "false", onclick: () => { isHeld = !isHeld; stop.setAttribute("aria-pressed", String(isHeld)); say(stop, isHeld ? "Go on" : "Hold"); } }, "Hold");
    root.append(h("div", { class: "view-head" }, h("h2", { class: "view-title" }, "Log"), stop), note,
      h("section", { class: "card" }, h("h3", {}, "URLs, the newest first"), h("div", { class: "scroll log-scroll", tabindex: "0", role: "region", "aria-label": "URLs, the newest first" }, urls)), said);
    let timer;
    let isHeld = false;
    let isLeft = false;
    const load = async () => {
      try {
        if (!isHeld) {
          const found = await get(`${place.api("log")}?limit=150`);
          if (isLeft) return;
          say(note, found.urls.length ? "" : "Nothing is stored yet.");
          keep(urls, found.urls, (row) => `${row.at} ${row.url}`, line, () => {});
          const lines = found.process.filter((each) => !/ url\.\w+ /.test(each)); // they are above
          said.hidden = !lines.length;
          say(process, lines.slice(-100).reverse().join("\n"));
        }
      } catch (error) {
        say(note, error.message);
      }
      timer = setTimeout(load, AGAIN_MS);
    };
    load();
    return () => {
      isLeft = true;
      clearTimeout(timer);
    };
    function line(row) {
      return h("li", {},
        h("time", { class: "muted" }, time(row.at)),
        h("span", { class: "status", "data-kind": row.kind }, row.kind === "failure" ? row.failure : String(row.status)),
        h("span", { class: "muted size" }, row.bytes ? bytes(row.bytes) : "–"),
        h("a", { href: place.link("page", { url: row.url }) }, row.url),
        h("span", { class: "muted" }, row.type));
    }
  },
};
