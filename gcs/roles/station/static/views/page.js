// One page: what is stored of it, in tabs; its versions and how they differ; the ways to its archived copy.

import { get, post } from "../api.js";
import { h, link } from "../dom.js";
import { bytes, count } from "../format.js";
import { replace } from "../router.js";

const PARTS = { text: "Text", markdown: "Markdown", links: "Links out", "links-in": "Links in", headers: "Headers", versions: "Versions" };

export const page = {
  name: "page",
  of: "crawl",
  under: "pages",
  open(root, place) {
    const url = place.query.get("url") ?? "";
    const session = place.query.get("session") ?? "";
    const back = h("p", {}, h("a", { href: place.link("pages"), class: "back" }, "‹ All pages"));
    const told = h("div", { id: "page" }, h("p", { class: "muted" }, "Reading…"));
    root.append(back, told);
    const query = new URLSearchParams({ url, ...(session ? { session } : {}) });
    get(`${place.api("page")}?${query}`).then(
      (found) => told.replaceChildren(...shown(found, place)),
      (error) => told.replaceChildren(h("p", { class: "error" }, error.message), h("p", {}, link(url, url))),
    );
  },
};

function shown(found, place) {
  const part = place.query.get("part") ?? "text";
  const body = h("div", { id: "part" });
  const tabs = h("div", { class: "parts", role: "tablist", "aria-label": "Parts of the page" });
  const open = (name) => {
    replace(place.crawl, "page", { url: found.url, session: place.query.get("session") ?? "", part: name === "text" ? "" : name });
    for (const tab of tabs.children) {
      tab.setAttribute("aria-selected", String(tab.dataset.part === name));
      tab.tabIndex = tab.dataset.part === name ? 0 : -1;
    }
    body.replaceChildren(...content[name](found, place));
  };
  const counts = { links: found.link_count, headers: found.headers.length, versions: found.versions.length };
  for (const [name, title] of Object.entries(PARTS)) {
    const text = counts[name] ? `${title} (${count(counts[name])})` : title;
    tabs.append(h("button", { type: "button", role: "tab", id: `tab-${name}`, "data-part": name, "aria-controls": "part-panel", onclick: () => open(name) }, text));
  }
  tabs.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const all = [...tabs.children];
    const to = all[(all.indexOf(document.activeElement) + step + all.length) % all.length];
    to.focus();
    open(to.dataset.part);
  });
  const panel = h("section", { class: "card", id: "part-panel", role: "tabpanel", "aria-label": "Part of the page" }, body);
  open(PARTS[part] ? part : "text");
  return [head(found, place), tabs, panel];
}

function head(found, place) {
  const hasRecord = Boolean(found.warc_file);
  const openTicket = async (what) => {
    const into = what === "archived" ? window.open("about:blank", "_blank") : null;
    if (into) into.opener = null;
    try {
      const { path } = await post(place.api("tickets"), { what, name: found.url, session: found.session });
      if (into) into.location.replace(new URL(path, location.href).href);
      else location.assign(path);
    } catch (error) {
      into?.close();
      place.toast(error.message, true);
    }
  };
  const rows = [
    ["Status", found.failure || String(found.status)],
    ["What", found.kind],
    ["Type", found.content_type],
    ["Size", found.bytes ? bytes(found.bytes) : ""],
    ["Language", found.language],
    ["Change", found.change],
    ["Fetched", new Date(found.at * 1000).toLocaleString()],
    ["Session", String(found.session)],
    ["Depth", String(found.depth)],
    ["By", [found.gatherer, found.helper && `helper ${found.helper}`].filter(Boolean).join(", ")],
    ["Found on", found.parent && h("a", { href: place.link("page", { url: found.parent }) }, found.parent)],
    ["Canonical", found.final_url !== found.url && found.final_url],
    ["Description", found.description],
    ...Object.entries(found.metadata).filter(([name]) => name !== "description").map(([name, value]) => [name.replace("_", " "), value]),
    ["Digest", found.digest],
    ["WARC record", hasRecord && `${found.warc_file}, byte ${count(found.warc_offset)}, ${bytes(found.warc_bytes)}`],
    ["Notes", [found.truncated && `cut short: ${found.truncated}`, found.noindex && "asks not to be indexed", found.shell && "only its scripts would fill it"].filter(Boolean).join("; ")],
  ].filter(([, value]) => value);
  return h("section", { class: "card page-head" },
    h("div", { class: "page-title" },
      h("div", {}, h("h2", { class: "view-title" }, found.title || found.url), h("p", { class: "found-url" }, link(found.url, found.url))),
      found.thumbnail.startsWith("data:image/") ? h("img", { class: "thumbnail", src: found.thumbnail, alt: "Thumbnail of the page" }) : null),
    h("div", { class: "buttons" },
      h("button", { type: "button", class: "button primary", disabled: !hasRecord, id: "open-archived", onclick: () => openTicket("archived") }, "Open archived"),
      h("button", { type: "button", class: "button", disabled: !hasRecord, onclick: () => openTicket("record") }, "WARC record"),
      h("button", { type: "button", class: "button", disabled: !hasRecord, onclick: () => openTicket("body") }, "Body")),
    h("dl", { class: "facts" }, ...rows.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))));
}

const content = {
  text: (found) => [found.text ? h("div", { class: "prose", tabindex: "0" }, found.text) : h("p", { class: "empty" }, "No text is stored."), found.text_cut ? h("p", { class: "muted note" }, "The text goes on; the export has all of it.") : null].filter(Boolean),
  markdown: (found) => [found.markdown ? h("pre", { class: "prose mono", tabindex: "0" }, found.markdown) : h("p", { class: "empty" }, "No Markdown: the page has no main text, or its record is not here.")],
  links: (found, place) => [
    found.links.length ? list(found.links, place) : h("p", { class: "empty" }, "It links to nothing."),
    found.link_count > found.links.length ? h("p", { class: "muted note" }, `And ${count(found.link_count - found.links.length)} more.`) : null,
    found.requisites.length ? h("h3", {}, "Needs") : null,
    found.requisites.length ? list(found.requisites.map((url) => ({ url })), place) : null,
  ].filter(Boolean),
  "links-in": (found, place) => {
    const body = h("div", {}, h("p", { class: "muted" }, "Searching…"));
    get(`${place.api("page/links-in")}?${new URLSearchParams({ url: found.url })}`).then(
      ({ pages, complete }) => body.replaceChildren(
        pages.length ? list(pages, place) : h("p", { class: "empty" }, complete ? "Nothing links here." : "Nothing was found in time."),
        complete ? "" : h("p", { class: "muted note" }, "Not all records were searched: these are the first.")),
      (error) => body.replaceChildren(h("p", { class: "error" }, error.message)),
    );
    return [body];
  },
  headers: (found) => [found.headers.length
    ? h("dl", { class: "facts mono" }, ...found.headers.map((line) => {
      const at = line.indexOf(": ");
      return h("div", {}, h("dt", {}, at < 0 ? line : line.slice(0, at)), h("dd", {}, at < 0 ? "" : line.slice(at + 2)));
    }))
    : h("p", { class: "empty" }, "No headers are stored.")],
  versions: (found, place) => {
    const differences = h("div", { id: "diff" });
    const all = [...found.versions].reverse();
    const rows = all.map((version, at) => h("li", {},
      h("a", { href: place.link("page", { url: found.url, session: version.session }) }, `Session ${version.session}`),
      h("span", { class: "muted" }, new Date(version.at * 1000).toLocaleString()),
      all[at + 1] ? difference(all[at + 1], version) : h("span", { class: "muted" }, "first")));
    function difference(older, newer) {
      if (!newer.tells) return h("span", { class: "muted" }, "confirmed, or not to be had: the one before holds");
      return h("button", { type: "button", class: "button", onclick: () => compare(older.session, newer.session) }, "What changed");
    }
    const compare = async (older, newer) => {
      try {
        const query = new URLSearchParams({ url: found.url, older, newer });
        const { lines, cut } = await get(`${place.api("page/diff")}?${query}`);
        const marks = { "+": "ins", "-": "del" };
        differences.replaceChildren(h("h3", {}, `From session ${older} to ${newer}`),
          lines.some((line) => line.mark !== "…")
            ? h("div", { class: "diff mono", tabindex: "0" }, ...lines.map((line) => h(marks[line.mark] ?? "div", { class: line.mark === "…" ? "muted" : null }, line.mark === "…" ? "⋯" : line.text || " ")))
            : h("p", { class: "empty" }, "The text is the same."),
          cut ? h("p", { class: "muted note" }, "Only the beginning was compared.") : "");
      } catch (error) {
        differences.replaceChildren(h("p", { class: "error" }, error.message));
      }
    };
    return [h("ul", { class: "versions" }, ...rows), differences];
  },
};

function list(rows, place) {
  return h("ul", { class: "link-list" }, ...rows.map((row) => h("li", {},
    row.kind ? h("a", { href: place.link("page", { url: row.url }), class: "found-title" }, row.anchor || row.title || row.url) : h("span", { class: "found-title" }, row.anchor || row.url),
    row.kind ? h("span", { class: "status", "data-kind": row.kind }, row.kind === "failure" ? row.failure || "failed" : String(row.status)) : h("span", { class: "status" }, "not fetched"),
    h("span", { class: "found-url" }, link(row.url, row.url)))));
}

