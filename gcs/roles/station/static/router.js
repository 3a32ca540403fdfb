// The router: which view is shown, and of which crawl. The place is in the fragment of the address:
//
//   #/crawls, #/new …                     a view of the station
//   #/crawl/CRAWL/pages?host=a.org        a view of a crawl, with what the reader has chosen
//
// To add a view: write views/NAME.js, which exports one object, and list it in views.js. Nothing else changes.
//
//   export const pages = {
//     name: "pages",            // in the address
//     title: "Pages",           // on its tab; without one, the view has no tab
//     of: "crawl",              // or "station"
//     under: "pages",           // optional: the tab that is marked, for a view without one of its own
//     role: "control",          // optional: the tab is shown to those who have this role only
//     when: (crawls) => …,      // optional: whether the view is there, given the answer of /api/crawls
//     open(root, place) {       // fills the empty element `root`; may return a function that is called when it is left
//       root.append(heading("Pages"), …);
//     },
//   };
//
// `place` is { crawl, query, api(name), link(view, query), go(view, query), live(topic, tell), roles, toast(text, bad) }:
// the id of the crawl, the URLSearchParams of the address, the path of a call about this crawl
// (place.api("hosts") → /api/crawls/CRAWL/hosts, for get and post of api.js), the address of a view of the same crawl
// and the way there, and the live values (status, links, rebalances, errors, pages) for as long as the view is open.
//
// What comes from crawled pages is shown as text (h of dom.js makes text nodes; the CSP allows no inline scripts).

import { say } from "./dom.js";

/** The address of a view of a crawl, or of the station (without a crawl). */
export function address(crawl, view, query = {}) {
  const told = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== "" && value !== null && value !== undefined));
  const path = crawl ? `#/crawl/${encodeURIComponent(crawl)}/${view}` : `#/${view}`;
  return `${path}${told.size ? `?${told}` : ""}`;
}

/** The place that the address names: { crawl, view, query }; the view is "" if it names none. */
export function located() {
  const [path, query = ""] = location.hash.slice(1).split("?");
  const parts = path.split("/").filter(Boolean);
  const isOfCrawl = parts[0] === "crawl" && parts.length > 1;
  let crawl = "";
  try {
    crawl = isOfCrawl ? decodeURIComponent(parts[1]) : "";
  } catch {
    // not an address that we made: no such crawl
  }
  return { crawl, view: (isOfCrawl ? parts[2] : parts[0]) ?? "", query: new URLSearchParams(query) };
}

/** A place to go to without an entry in the history: for filters that change with each key. */
export function replace(crawl, view, query) {
  history.replaceState(null, "", address(crawl, view, query));
}

/** Marks the tab of the view that is open. */
export function mark(nav, tabs, open) {
  nav.replaceChildren(...tabs);
  for (const tab of tabs) {
    if (tab.dataset.view === open) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
  nav.hidden = tabs.length < 2;
}

/** The title of the document. */
export function entitle(...parts) {
  say(document.querySelector("title"), [...parts.filter(Boolean), "GCS"].join(" · "));
}
