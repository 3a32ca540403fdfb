// Downloads: the whole crawl as one file, tables, and the WARC files. Each by a ticket, since a link carries no token.

import { get, post } from "../api.js";
import { h } from "../dom.js";
import { bytes } from "../format.js";

const NAMES = { wacz: "WACZ", csv: "Pages as CSV", jsonl: "Pages as JSON lines", links: "Links as CSV" };

export const downloads = {
  name: "downloads",
  title: "Downloads",
  of: "crawl",
  open(root, place) {
    const list = h("ul", { class: "downloads", id: "downloads" }, h("li", { class: "muted" }, "Looking…"));
    root.append(h("h2", { class: "view-title" }, "Downloads"), h("section", { class: "card" }, list));
    const take = async (each) => {
      try {
        const { path } = await post(place.api("tickets"), { what: each.what, name: each.name });
        location.assign(path);
      } catch (error) {
        place.toast(error.message, true);
      }
    };
    get(place.api("downloads")).then(
      ({ downloads: found }) => list.replaceChildren(...found.map((each) => h("li", {},
        h("div", {}, h("strong", {}, NAMES[each.what] ?? each.name), h("p", { class: "muted" }, [each.text, each.bytes ? bytes(each.bytes) : ""].filter(Boolean).join(", "))),
        h("button", { type: "button", class: "button", "aria-label": `Download ${NAMES[each.what] ?? each.name}`, onclick: () => take(each) }, "Download")))),
      (error) => list.replaceChildren(h("li", { class: "error" }, error.message)),
    );
  },
};
