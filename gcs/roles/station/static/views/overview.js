// The overview: how a crawl stands, live. Its elements are in index.html, and stay while other views are open.

import { get } from "../api.js";
import { chartCard } from "../charts.js";
import { $, say } from "../dom.js";
import { time } from "../format.js";
import * as panels from "../panels.js";
import { legend, Treemap } from "../treemap.js";

const TREE_S = 4;
const MOST_POINTS = 700;

/** The charts of the history, side by side. A point is a SeriesPoint (`core/report/series.py`). */
const charts = [
  chartCard("rate", "Pages per second", "Pages per second", [
    { name: "pages/s", colour: "var(--accent)", of: (point) => point.pages_per_s, area: true },
  ]),
  chartCard("queue", "Queue", "URLs", [
    { name: "known", colour: "var(--muted)", of: (point) => point.known },
    { name: "queued", colour: "var(--warn)", of: (point) => point.queued, area: true },
  ]),
];
const treemap = new Treemap();

let points = [];
let at = 0;
let treeDue = 0;
/** What says how long ago it was is shown again with each status, though nothing new has come. */
const aged = new Map();

function draw() {
  for (const chart of charts) chart.show(points);
}

function aging(panel, value) {
  aged.set(panel, value);
  panel(value, at || Date.now() / 1000);
}

export const overview = {
  name: "overview",
  title: "Overview",
  of: "crawl",
  open(root, place) {
    points = [];
    at = treeDue = 0;
    aged.clear();
    $("overview").hidden = false;
    treemap.begin(place.api("tree"));

    const loadHistory = async () => {
      points = (await get(place.api("history"))).points;
      draw();
    };
    const add = (point) => {
      const last = points[points.length - 1];
      if (last && point.at <= last.at) return;
      points.push(point);
      if (points.length > MOST_POINTS) loadHistory().catch(() => {});
      else draw();
    };
    place.live("open", () => loadHistory().catch(() => {}));
    place.live("status", (value) => {
      at = value.at;
      say($("seen"), `as of ${time(value.at)}`);
      panels.outlook(value);
      panels.figures(value);
      panels.team(value);
      panels.helpers(value, value.at);
      legend(value.team.map((row) => row.gatherer));
      if (value.now.at && place.isRunning()) add(value.now);
      for (const [panel, last] of aged) panel(last, value.at);
      if (value.at >= treeDue) {
        treeDue = value.at + TREE_S;
        treemap.refresh().catch(() => {});
      }
    });
    place.live("links", panels.links);
    place.live("rebalances", (value) => aging(panels.rebalances, value));
    for (const [topic, rows] of [["errors", "hosts"], ["pages", "pages"]]) {
      place.live(topic, (value) => {
        if (value[rows].length || place.isRunning()) aging(panels[topic], value);
        else get(place.api(topic)).then((gathered) => aging(panels[topic], gathered), () => {}); // it rests: from its records
      });
    }
    return () => {
      $("overview").hidden = true;
      say($("seen"), "");
    };
  },
};
