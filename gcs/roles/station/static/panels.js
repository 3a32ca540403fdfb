// The panels: each shows one value of the API.

import { $, h, hideTip, keep, link, s, say, showTip } from "./dom.js";
import { ago, axisTime, brief, bytes, count, duration, moment, percent } from "./format.js";
import { colour } from "./owners.js";

const SHOWN_PLANS = 8;
const MOST_NUMBERS = 6;
const SHORT = 5; // characters of a name that heads a column

// -- how it stands ------------------------------------------------------------------------------------

/** All texts come from the estimate, so that the page says what the progress line and `gcs status` say. */
export function outlook({ outlook: found, now }) {
  const begun = now.known > 0;
  const isLimited = begun && !found.done.endsWith(" explored"); // then the bar shows the way to the limit
  say($("outlook-title"), isLimited ? "Progress" : "Explored");
  say($("explored"), begun ? found.done.replace(" explored", "") : "–");
  say($("explored-bounds"), !begun || found.low === found.high ? "" : `${isLimited ? "explored: " : ""}between ${percent(found.low)} and ${percent(found.high)}`);
  say($("eta"), found.left);
  say($("why"), found.why);
  say($("dealt"), now.known ? `${count(now.known - now.queued)} of ${count(now.known)} known URLs are dealt with` : "");
  $("progress-fill").style.width = `${100 * found.progress}%`;
  $("progress-band").style.width = `${begun ? 100 * Math.max(found.high, found.progress) : 0}%`;
  $("progress").setAttribute("aria-valuenow", Math.floor(100 * found.progress));
}

export function figures({ report, now, team, helpers, state }) {
  const ended = ["done", "stopped", "limit", "stored"].includes(state); // then the last moment's rate says nothing
  const rows = [
    ["Pages", count(now.pages), report.session > 1 ? `${count(report.new + report.changed + report.same)} held` : bytes(report.bytes)],
    ["Pages per second", brief(ended ? report.pages_per_s : now.pages_per_s), ended ? "on average" : `${bytes(now.bytes_per_s)}/s`],
    state === "stored" ? ["Queued", "–", "not in a store"] : ["Queued", count(now.queued), `${count(now.known)} known`],
    ["Failed", count(report.failed), `${count(report.denied_by_robots)} denied by robots`],
    ["Exchanged", brief(report.exchanged_urls), `${report.urls_per_page.toFixed(2)} URLs a page`],
    ["Gatherers", count(team.filter((row) => row.state !== "gone").length), many(helpers.length, "helper")],
  ];
  keep($("figures"), rows, ([name]) => name,
    ([name]) => h("div", {}, h("dt", {}, name), h("dd", { class: "value" }), h("dd", { class: "detail" })),
    (node, [, value, detail]) => {
      say(node.children[1], value);
      say(node.children[2], detail);
    });
}

// -- team ---------------------------------------------------------------------------------------------

const chip = (name) => h("span", { class: "key", style: { background: colour(name) } });

export function team({ team: rows, crawl }) {
  $("team").hidden = !rows.length;
  const empty = $("team-empty");
  empty.hidden = rows.length > 0;
  say(empty.lastElementChild, `gcs gatherer --space … --crawl ${crawl}`);
  keep($("team").tBodies[0], rows, (row) => row.gatherer,
    (row) => h("tr", {},
      h("th", { scope: "row" }, chip(row.gatherer), row.gatherer, " ", h("span", { class: "leads" }, "leads")),
      h("td", {}, h("span", { class: "pill" })),
      ...[0, 1, 2].map(() => h("td", { class: "number" })),
      h("td", {}, h("span", { class: "meter" }, h("span", {}, h("span")), h("span", {}))),
      ...[0, 1, 2, 3].map(() => h("td", { class: "number" }))),
    (node, row) => {
      const cells = node.children;
      node.classList.toggle("gone", row.state === "gone");
      cells[0].lastElementChild.hidden = !row.leads;
      cells[1].firstElementChild.dataset.state = row.state;
      say(cells[1].firstElementChild, row.state);
      say(cells[2], count(row.pages));
      say(cells[3], brief(row.pages_per_s));
      say(cells[4], count(row.queued));
      const [bar, text] = cells[5].firstElementChild.children;
      bar.firstElementChild.style.width = `${100 * row.busy}%`;
      say(text, percent(row.busy));
      say(cells[6], count(row.in_flight));
      say(cells[7], count(row.superpages));
      say(cells[8], `${count(row.inbox)} / ${count(row.outbox)}`);
      say(cells[9], row.settled ? String(row.epoch) : `${row.epoch} …`);
    });
}

export function links({ gatherers, sent }) {
  const table = $("links");
  if (!gatherers.length) return table.replaceChildren(h("tbody", {}, h("tr", {}, h("td", { class: "self empty" }, "Nothing was sent yet."))));
  const most = Math.max(1, ...sent.flat());
  const dense = gatherers.length > MOST_NUMBERS; // colours tell more than so many numbers
  table.classList.toggle("dense", dense);
  const name = (text) => {
    if (!dense && text.length <= SHORT) return [chip(text), text];
    return [chip(text), h("span", { "aria-hidden": "true" }, dense ? "" : (/\d+$/.exec(text)?.[0] ?? `${text.slice(0, SHORT - 1)}…`)), h("span", { class: "spoken" }, text)];
  };
  const cell = (row, column) => {
    const urls = sent[row][column];
    if (row === column) return h("td", { class: "self" }, dense ? "" : "·");
    const heat = !urls ? 0 : dense ? 0.08 + 0.85 * (Math.log1p(urls) / Math.log1p(most)) ** 3 : 0.06 + 0.5 * Math.sqrt(urls / most);
    const shade = urls ? { background: `rgb(var(--heat) / ${heat.toFixed(3)})` } : {};
    const title = `${gatherers[row]} → ${gatherers[column]}: ${count(urls)} URLs`;
    return h("td", { style: shade, title }, dense ? h("span", { class: "spoken" }, brief(urls)) : brief(urls));
  };
  table.replaceChildren(
    h("thead", {}, h("tr", {}, h("td", { class: "self" }), ...gatherers.map((text) => h("th", { scope: "col", title: text }, ...name(text))))),
    h("tbody", {}, ...gatherers.map((text, row) =>
      h("tr", {}, h("th", { scope: "row" }, chip(text), text), ...gatherers.map((_, column) => cell(row, column))))),
  );
}

// -- rebalances ---------------------------------------------------------------------------------------

function timeline(plans, now) {
  const place = $("timeline");
  const width = place.clientWidth;
  if (!plans.length || !width) return place.replaceChildren();
  const first = Math.min(...plans.map((plan) => plan.at));
  const span = Math.max(now - first, 10);
  const x = (at) => 14 + ((at - first) / span) * (width - 28);
  const middle = 26;
  if (!place.firstElementChild) {
    place.append(s("svg", { role: "img" }, s("line", { class: "axis", y1: middle, y2: middle }), s("g"),
      s("text", { y: 60 }), s("text", { y: 60, "text-anchor": "end" })));
  }
  const picture = place.firstElementChild;
  const [axis, dots, from, to] = picture.children;
  set(picture, { "aria-label": `${many(plans.length, "plan")} since ${moment(first, now)}`, viewBox: `0 0 ${width} 64` });
  set(axis, { x1: 4, x2: width - 4 });
  set(from, { x: 4 });
  set(to, { x: width - 4 });
  say(from, axisTime(first, span));
  say(to, axisTime(now, span));
  const sorted = [...plans].sort((a, b) => b.moved - a.moved); // the small ones on top
  keep(dots, sorted, (plan) => plan.epoch,
    () => {
      const dot = s("circle", { cy: middle, opacity: 0.9, onpointerleave: hideTip });
      const tell = (event) => showTip(event.clientX, event.clientY, ...dot.told());
      for (const kind of ["pointermove", "pointerdown"]) dot.addEventListener(kind, tell);
      return dot;
    },
    (dot, plan) => {
      set(dot, { cx: x(plan.at), r: 5 + 11 * Math.sqrt(plan.moved), class: plan.committed_at === null ? "open" : "" });
      dot.told = () => [h("strong", {}, `Plan ${plan.epoch}, ${moment(plan.at, now)}`),
        h("div", {}, `${reason(plan.reason)} · ${moved(plan)}`), ...plan.transfers.slice(0, 6).map(transfer)];
    });
}

const set = (node, attributes) => Object.entries(attributes).forEach(([name, value]) => node.setAttribute(name, value));

const who = (name) => h("span", {}, chip(name), name);
const many = (value, word) => `${count(value)} ${word}${value === 1 ? "" : "s"}`;
const reason = (text) => (text === "first" ? "first plan" : text);
const moved = (plan) => (plan.moved ? `${percent(plan.moved)} of the work moved` : "nothing moved");
const transfer = (each) => h("div", {}, who(each.loser), " → ", who(each.winner), `: ${many(each.ranges, "range")}`);

/** Plans in a row that moved nothing, for the same reason, are one row: [newest, oldest]. */
function rowsOf(plans) {
  const rows = [];
  for (const plan of plans) {
    const last = rows[rows.length - 1]?.[0];
    const idle = (each) => !each.moved && !each.lost && each.committed_at !== null;
    if (last && idle(plan) && idle(last) && plan.reason === last.reason) rows[rows.length - 1][1] = plan;
    else rows.push([plan, plan]);
  }
  return rows;
}

export function rebalances({ rebalances: plans }, now) {
  timeline(plans, now);
  const place = $("rebalances");
  const latest = plans.find((plan) => plan.transfers.length)?.epoch; // what moved last is open from the start
  keep(place, rowsOf(plans).slice(0, SHOWN_PLANS), ([, oldest]) => `${oldest.epoch}`,
    ([, oldest]) => h("li", {}, h("details", { open: oldest.epoch === latest },
      h("summary", {}, h("span", { class: "epoch" }), h("span", { class: "why" }), h("span", { class: "when" })),
      h("ul", {}))),
    (node, [plan, oldest]) => {
      const [summary, list] = node.firstElementChild.children;
      const lost = plan.lost && plan.reason !== "first" ? `, ${many(plan.lost, "range")} lost` : "";
      say(summary.children[0], plan === oldest ? `${plan.epoch}` : `${oldest.epoch}–${plan.epoch}`);
      say(summary.children[1], `${reason(plan.reason)} · ${moved(plan)}${lost}`);
      const took = plan.committed_at === null ? "handing over" : plan.transfers.length ? `handed over in ${duration(plan.committed_at - plan.at)}` : "settled";
      say(summary.children[2], `${moment(plan.at, now)} · ${took}`);
      if (list.dataset.epoch === `${plan.epoch}`) return;
      list.dataset.epoch = plan.epoch;
      list.replaceChildren(
        ...plan.transfers.slice(0, 12).map((each) => h("li", {}, transfer(each),
          h("div", { class: "places" }, each.places.join(", ") + (each.ranges > each.places.length ? " …" : "")))),
        h("li", { class: "muted" }, `${many(plan.superpages, "superpage")} for ${plan.gatherers.join(", ")}`),
      );
    });
  if (!plans.length) place.replaceChildren(h("li", { class: "empty" }, "No plan yet."));
}

// -- helpers, pages, errors ---------------------------------------------------------------------------

export function helpers({ helpers: rows }, now) {
  const place = $("helpers");
  if (!rows.length) {
    if (!place.querySelector(".empty")) {
      place.replaceChildren(h("li", { class: "empty" }, "None now. ", h("code", {}, "gcs helper"), " lends a machine."));
    }
    return;
  }
  place.querySelector(".empty")?.remove();
  keep(place, rows, (row) => row.helper,
    (row) => h("li", {}, h("strong", {}, row.helper), h("span", { class: "rate" }), h("span", { class: "muted" }), h("span", { class: "muted" })),
    (node, row) => {
      say(node.children[1], `${brief(row.pages_per_s)} pages/s`);
      say(node.children[2], [row.means, row.place || "anywhere", `${count(row.connections)} at once`].join(" · "));
      say(node.children[3], `${many(row.pages, "page")}${row.since ? `, ${duration(Math.max(now - row.since, 0))}` : ""}`);
    });
}

export function pages({ pages: rows }, now) {
  const place = $("pages");
  if (!rows.length) return place.replaceChildren(h("li", { class: "empty" }, "No page yet."));
  place.querySelector(".empty")?.remove();
  keep(place, rows.slice(0, 7), (page) => page.url,
    (page) => h("li", {},
      link(page.url, page.title || page.url),
      h("p", { class: "url" }, page.url),
      h("p", { class: "summary" }, page.summary),
      h("p", { class: "meta" }, who(page.gatherer), h("span", {}, bytes(page.bytes)), page.elapsed_s ? h("span", {}, duration(page.elapsed_s)) : null,
        h("span", {}, many(page.outlinks, "link")), h("span", {}, `depth ${page.depth}`),
        page.language ? h("span", {}, page.language) : null, page.helper ? h("span", {}, `by ${page.helper}`) : null, h("span", { "data-ago": "" }))),
    (node, page) => say(node.querySelector("[data-ago]"), ago(page.fetched_at, now)));
}

export function errors({ kinds, hosts }, now) {
  keep($("kinds"), Object.entries(kinds), ([kind]) => kind, () => h("li"), (node, [kind, urls]) => say(node, `${kind} ${count(urls)}`));
  const place = $("errors");
  if (!hosts.length) return place.replaceChildren(h("li", { class: "empty" }, "None."));
  place.querySelector(".empty")?.remove();
  const most = hosts[0].failed;
  keep(place, hosts.slice(0, 9), (host) => host.host,
    (host) => h("li", {}, h("strong", {}, host.host), h("span", { class: "count" }),
      h("span", { class: "bar-line" }, h("span")), h("span", { class: "muted" }), h("span", { class: "muted" })),
    (node, host) => {
      say(node.children[1], count(host.failed));
      node.children[2].firstElementChild.style.width = `${(100 * host.failed) / most}%`;
      say(node.children[3], `${host.kind} · ${host.url}`);
      say(node.children[4], ago(host.at, now));
    });
}
