// The page: its frame, which all views share: the header with its orders, tabs, dialogs, and who is signed in.

import { follow, get, keepToken, post, token } from "./api.js";
import { $, h, say } from "./dom.js";
import { address, entitle, located, mark } from "./router.js";
import { VIEWS } from "./views.js";

const AGAIN_MS = 2000;

/** What is open: the place, how to leave it, and the live values of its crawl. */
let open = { crawl: "", view: null, leave: null };
let stream = null;
let listeners = [];
let latest = {};
let status = null;
let roles = [];
let known = { crawls: [], can_start: false };

// -- where the reader is ------------------------------------------------------------------------------

function placeOf({ crawl, query }) {
  return {
    crawl,
    query,
    roles,
    api: (name) => (crawl ? `/api/crawls/${encodeURIComponent(crawl)}/${name}` : `/api/${name}`),
    link: (view, asked) => address(crawl, view, asked),
    go: (view, asked) => (location.hash = address(crawl, view, asked)),
    live(topic, tell) {
      listeners.push([topic, tell]);
      if (topic in latest) tell(latest[topic]);
    },
    isRunning: () => ["running", "paused", "stopping"].includes(status?.state),
    toast,
  };
}

function start() {
  const only = known.crawls.length === 1 && !known.can_start ? known.crawls[0].id : "";
  return only ? address(only, "overview") : address("", "crawls");
}

/** Show what the address names. */
function route() {
  const to = located();
  const view = VIEWS.find((each) => each.name === to.view && (each.of === "crawl") === Boolean(to.crawl));
  if (!view) {
    history.replaceState(null, "", start());
    return located().view ? route() : undefined;
  }
  open.leave?.();
  listeners = [];
  if (to.crawl !== open.crawl) change(to.crawl);
  open = { crawl: to.crawl, view, leave: null };
  const root = $("view");
  root.replaceChildren();
  root.hidden = view.name === "overview";
  tabs();
  heading();
  open.leave = view.open(root, placeOf(to)) ?? null;
  scrollTo(0, 0);
}

/** Another crawl: its live values, from the beginning. */
function change(crawl) {
  stream?.stop();
  stream = null;
  status = null;
  latest = {};
  $("banner").hidden = true;
  if (!crawl) return;
  stream = follow(`/api/crawls/${encodeURIComponent(crawl)}/events`, tell, connected);
}

function tell(topic, value) {
  latest[topic] = value;
  if (topic === "status") {
    status = value;
    heading();
  }
  for (const [wanted, told] of listeners) if (wanted === topic) told(value);
}

function connected(isOn, error) {
  if (isOn) {
    $("banner").hidden = true;
    tell("open", true);
    whoAmI();
    return;
  }
  delete latest.open;
  if (error?.status === 404) return complain("There is no such crawl here any more.");
  const needsKey = error?.status === 401 || error?.status === 403;
  complain(needsKey ? "This station shows itself only to those who have a token. Sign in." : ended() ?? "The station does not answer. Trying again…");
}

function complain(text) {
  say($("banner"), text);
  $("banner").hidden = false;
}

function ended() {
  const ends = { done: "The crawl is done.", stopping: "The crawl was stopped.", stopped: "The crawl was stopped." };
  return status && ends[status.state];
}

function tabs() {
  const ofCrawl = Boolean(open.crawl);
  const shown = VIEWS.filter((view) =>
    view.title && (view.of === "crawl") === ofCrawl && (!view.role || roles.includes(view.role)) && (!view.when || view.when(known)));
  const nav = $("views");
  mark(nav, shown.map((view) => h("a", { href: address(open.crawl, view.name), "data-view": view.name }, view.title)), open.view.under ?? open.view.name);
  $("home").hidden = !ofCrawl || start() !== address("", "crawls");
}

function heading() {
  const title = open.view?.title ?? "";
  if (!open.crawl) {
    entitle(title);
    say($("crawl"), "GCS station");
    say($("subtitle"), "");
  } else if (status) {
    entitle(status.crawl, status.state);
    say($("crawl"), status.crawl);
    const handing = status.committed ? "" : ", handing over";
    const plan = `plan ${status.epoch}, ${status.superpages} superpage${status.superpages === 1 ? "" : "s"}${handing}`;
    const one = status.team.length === 1 ? "one gatherer" : status.team.length ? "" : "waiting for a plan";
    say($("subtitle"), status.epoch ? plan : [one, status.report.session > 1 ? `session ${status.report.session}` : ""].filter(Boolean).join(", "));
  } else {
    entitle(open.crawl);
    say($("crawl"), open.crawl);
    say($("subtitle"), "connecting…");
  }
  $("state").hidden = !open.crawl;
  $("state").dataset.state = status?.state ?? "waiting";
  say($("state"), status?.state ?? "waiting");
  controls();
}

// -- what the reader does -----------------------------------------------------------------------------

function controls() {
  const may = roles.includes("control");
  const state = status?.state;
  const alive = state === "running" || state === "paused" || (state === "waiting" && status.seeds > 0);
  for (const id of ["pause", "rebalance", "add-seeds", "stop"]) {
    const button = $(id);
    button.hidden = !open.crawl;
    button.disabled = !may || !alive;
    button.title = !may ? "Needs a token of the role control: sign in" : alive ? "" : "There is no crawl to act on";
  }
  say($("pause"), state === "paused" ? "Resume" : "Pause");
  const isEnded = Boolean(state) && !alive && state !== "stopping";
  const isTeam = Boolean(status?.epoch);
  $("rebalance").hidden = !open.crawl || !isTeam;
  for (const id of ["pause", "add-seeds", "stop"]) $(id).hidden = !open.crawl || (isEnded && known.can_start);
  for (const id of ["go-on", "next"]) {
    $(id).hidden = !open.crawl || !known.can_start || !isEnded;
    $(id).disabled = !may;
  }
  say($("key"), may ? "Sign out" : "Sign in");
}

async function whoAmI() {
  try {
    const me = (await get("/api/me")).roles;
    const changed = me.join() !== roles.join();
    roles = me;
    if (changed && open.view) tabs();
  } catch (error) {
    roles = [];
    if (error.status === 401 && token()) {
      keepToken(null);
      toast("The token is no longer good.", true);
      begin();
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

const here = (name) => `/api/crawls/${encodeURIComponent(open.crawl)}/${name}`;

$("pause").addEventListener("click", () =>
  status.state === "paused" ? order(here("resume"), "The crawl goes on.") : order(here("pause"), "The crawl pauses: pages in flight still come in."));
$("rebalance").addEventListener("click", () => order(here("rebalance"), "The leader was asked to share the work anew."));
$("go-on").addEventListener("click", () => order(here("start"), "The crawl goes on as soon as there is room for it.", {}));
$("next").addEventListener("click", () => order(here("start"), "The next session begins as soon as there is room for it.", { next: true }));
$("stop").addEventListener("click", () => $("stop-dialog").showModal());
$("stop-dialog").addEventListener("submit", () => order(here("stop"), "The crawl ends."));

$("add-seeds").addEventListener("click", () => {
  say($("seeds-error"), "");
  $("seeds-dialog").showModal();
});
$("seeds-dialog").addEventListener("submit", async (event) => {
  event.preventDefault();
  const urls = $("seeds-text").value.split("\n").map((line) => line.trim()).filter(Boolean);
  if (!urls.length) return say($("seeds-error"), "Write at least one URL.");
  try {
    const { seeds } = await post(here("seeds"), { urls });
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
    begin();
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
    begin();
  } catch (error) {
    say($("key-error"), error.message);
  }
});
for (const button of document.querySelectorAll("[data-close]")) {
  button.addEventListener("click", () => button.closest("dialog").close());
}

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the fragment of the address is the router's
  $("main").focus();
});

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

// -- the beginning, also with another token -----------------------------------------------------------

let beginning = 0;

async function begin() {
  const mine = ++beginning;
  token(); // takes it out of the address before the router reads that
  await whoAmI();
  while (mine === beginning) {
    try {
      known = await get("/api/crawls");
      $("banner").hidden = true;
      change(located().crawl);
      open.crawl = located().crawl;
      route();
      return;
    } catch (error) {
      connected(false, error);
      if (error.status === 401 || error.status === 403) return;
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

addEventListener("hashchange", () => {
  if (!new URLSearchParams(location.hash.slice(1)).get("token")) return route();
  begin(); // a link with a token was pasted into this tab
});
begin();
