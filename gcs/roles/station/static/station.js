// The page: what comes from the station goes to the panels; what the reader does goes to the station.

import { follow, get, keepToken, post, token } from "./api.js";
import { chartCard } from "./charts.js";
import { $, h, say } from "./dom.js";
import { time } from "./format.js";
import * as panels from "./panels.js";
import { legend, Treemap } from "./treemap.js";

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
let status = null;
let roles = [];
let treeDue = 0;

// -- what comes ---------------------------------------------------------------------------------------

async function loadHistory() {
  points = (await get("/api/history")).points;
  draw();
}

function draw() {
  for (const chart of charts) chart.show(points);
}

function add(point) {
  const last = points[points.length - 1];
  if (last && point.at <= last.at) return;
  points.push(point);
  if (points.length > MOST_POINTS) loadHistory().catch(() => {});
  else draw();
}

const show = {
  status(value) {
    status = value;
    document.title = `${value.crawl} · ${value.state} · GCS`;
    say($("crawl"), value.crawl);
    const handing = value.committed ? "" : ", handing over";
    say($("subtitle"), value.epoch ? `plan ${value.epoch}, ${value.superpages} superpage${value.superpages === 1 ? "" : "s"}${handing}` : "waiting for a plan");
    $("state").dataset.state = value.state;
    say($("state"), value.state);
    say($("seen"), `as of ${time(value.at)}`);
    panels.outlook(value);
    panels.figures(value);
    panels.team(value);
    panels.helpers(value, value.at);
    legend(value.team.map((row) => row.gatherer));
    if (value.now.at) add(value.now);
    for (const [panel, last] of aged) panel(last, value.at);
    controls();
    if (value.at >= treeDue) {
      treeDue = value.at + TREE_S;
      treemap.refresh().catch(() => {});
    }
  },
  links: panels.links,
  rebalances: (value) => aging(panels.rebalances, value),
  errors: (value) => aging(panels.errors, value),
  pages: (value) => aging(panels.pages, value),
};

/** Show what says how long ago it was: now, and again with each status, though nothing new has come. */
const aged = new Map();
function aging(panel, value) {
  aged.set(panel, value);
  panel(value, status?.at ?? Date.now() / 1000);
}

function connected(isOn, error) {
  const banner = $("banner");
  if (isOn) {
    banner.hidden = true;
    loadHistory().catch(() => {});
    whoAmI();
    return;
  }
  const needsKey = error?.status === 401 || error?.status === 403;
  say(banner, needsKey ? "This station shows itself only to those who have a token. Sign in." : ended() ?? "The station does not answer. Trying again…");
  banner.hidden = false;
}

function ended() {
  const ends = { done: "The crawl is done.", stopping: "The crawl was stopped.", stopped: "The crawl was stopped." };
  return status && ends[status.state];
}

const restart = follow((topic, value) => show[topic]?.(value), connected);

// -- what the reader does -----------------------------------------------------------------------------

function controls() {
  const may = roles.includes("control");
  const state = status?.state;
  const alive = state === "running" || state === "paused" || (state === "waiting" && status.seeds > 0);
  const pause = $("pause");
  say(pause, state === "paused" ? "Resume" : "Pause");
  for (const id of ["pause", "rebalance", "add-seeds", "stop"]) {
    const button = $(id);
    button.disabled = !may || !alive;
    button.title = !may ? "Needs a token of the role control: sign in" : alive ? "" : "There is no crawl to act on";
  }
  say($("key"), may ? "Sign out" : "Sign in");
}

async function whoAmI() {
  try {
    roles = (await get("/api/me")).roles;
  } catch (error) {
    roles = [];
    if (error.status === 401 && token()) {
      keepToken(null);
      toast("The token is no longer good.", true);
      restart();
    }
  }
  controls();
}

function toast(text, isBad = false) {
  const note = h("p", { class: `toast${isBad ? " bad" : ""}` }, text);
  $("toasts").append(note);
  setTimeout(() => note.remove(), 5000);
}

async function order(path, done, body) {
  try {
    const answer = await post(path, body);
    toast(typeof done === "function" ? done(answer) : done);
    return true;
  } catch (error) {
    toast(error.message || "The station does not answer.", true);
    return false;
  }
}

$("pause").addEventListener("click", () =>
  status.state === "paused" ? order("/api/resume", "The crawl goes on.") : order("/api/pause", "The crawl pauses: pages in flight still come in."));
$("rebalance").addEventListener("click", () => order("/api/rebalance", "The leader was asked to share the work anew."));
$("stop").addEventListener("click", () => $("stop-dialog").showModal());
$("stop-dialog").addEventListener("submit", () => order("/api/stop", "The crawl ends."));

$("add-seeds").addEventListener("click", () => {
  say($("seeds-error"), "");
  $("seeds-dialog").showModal();
});
$("seeds-dialog").addEventListener("submit", async (event) => {
  event.preventDefault();
  const urls = $("seeds-text").value.split("\n").map((line) => line.trim()).filter(Boolean);
  if (!urls.length) return say($("seeds-error"), "Write at least one URL.");
  try {
    const { seeds } = await post("/api/seeds", { urls });
    $("seeds-text").value = "";
    $("seeds-dialog").close();
    toast(seeds.length === 1 ? `Added ${seeds[0]}` : `Added ${seeds.length} seeds.`);
  } catch (error) {
    say($("seeds-error"), error.message);
  }
});

$("key").addEventListener("click", () => {
  if (roles.includes("control")) {
    keepToken(null);
    restart();
    return;
  }
  say($("key-error"), "");
  $("key-dialog").showModal();
});
$("key-dialog").addEventListener("submit", async (event) => {
  event.preventDefault();
  const given = $("key-text").value.trim();
  try {
    await get("/api/me", given);
    keepToken(given);
    $("key-text").value = "";
    $("key-dialog").close();
    restart();
  } catch (error) {
    say($("key-error"), error.message);
  }
});
for (const button of document.querySelectorAll("[data-close]")) {
  button.addEventListener("click", () => button.closest("dialog").close());
}

// -- colours ------------------------------------------------------------------------------------------

const THEMES = { auto: ["◐", "as the system"], light: ["☀", "light"], dark: ["☾", "dark"] };

function theme(name) {
  if (name === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  say($("theme"), THEMES[name][0]);
  $("theme").setAttribute("aria-label", `Colours: ${THEMES[name][1]}`);
  localStorage.setItem("gcs-theme", name);
}

$("theme").addEventListener("click", () => {
  const names = Object.keys(THEMES);
  theme(names[(names.indexOf(localStorage.getItem("gcs-theme") ?? "auto") + 1) % names.length]);
});
theme(THEMES[localStorage.getItem("gcs-theme")] ? localStorage.getItem("gcs-theme") : "auto");
