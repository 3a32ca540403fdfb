// The page: what the owner sees and decides. It starts the helper when both the owner and the clock say so, and stops it at once.

import { Helper } from "./helper.js";
import { isOnDuty } from "./schedule.js";
import { load, save } from "./settings.js";

const ORIGINS = { origins: ["http://*/*", "https://*/*"] };
const DAYS = ["Su", "Mo", "Tu", "We", "Th", "Fr", "Sa"];
const NUMBERS = ["connections", "perMinute"];
const CHECKS = ["shift", "allowPrivate"];

const $ = (id) => document.getElementById(id);
const form = $("settings");
let settings = await load();
let helper = null; // the one at work
let shown = null; // the last one, whose figures stay on the page
let granted = false;
let notice = "";
let isGood = false; // the notice is good news

function showSettings() {
  for (const [name, value] of Object.entries(settings)) {
    const field = form.elements.namedItem(name);
    if (field instanceof HTMLInputElement) field.type === "checkbox" ? (field.checked = value) : (field.value = value);
  }
  $("days").replaceChildren(
    ...DAYS.map((name, day) => {
      const label = document.createElement("label");
      const box = Object.assign(document.createElement("input"), { type: "checkbox", name: "day", value: day, checked: settings.days.includes(day) });
      label.append(box, name);
      return label;
    }),
  );
}

async function readSettings() {
  const data = new FormData(form);
  const changes = { days: data.getAll("day").map(Number) };
  for (const name of ["gateway", "token", "from", "to"]) changes[name] = data.get(name).trim();
  for (const name of NUMBERS) changes[name] = Number(data.get(name));
  for (const name of CHECKS) changes[name] = data.has(name);
  settings = { ...settings, ...changes };
  await save(changes);
  if (helper) Object.assign(helper.settings, changes);
}

function look() {
  const wanted = settings.armed && granted && isOnDuty(settings, new Date());
  if (wanted && !helper) begin();
  else if (!wanted && helper) end();
  show();
}

function begin() {
  const mine = new Helper({ ...settings }, show, async (why, good = false) => {
    if (helper === mine) helper = null;
    [notice, isGood] = [why, good];
    await arm(false);
  });
  helper = shown = mine;
  helper.run().catch((error) => (notice = error.message));
}

function end() {
  helper.stop();
  helper = null;
}

async function arm(armed) {
  settings.armed = armed;
  await save({ armed });
  look();
}

async function toggle() {
  [notice, isGood] = ["", false];
  if (settings.armed) return arm(false);
  if (!form.reportValidity()) return;
  await readSettings();
  if (!granted) granted = await chrome.permissions.request(ORIGINS);
  if (!granted) notice = "Without network access this page cannot fetch anything.";
  else await arm(true);
  show();
}

function state() {
  if (helper?.trouble) return ["waiting", "waiting for the gateway"];
  if (helper) return ["helping", helper.welcome ? "helping" : "saying hello"];
  if (settings.armed && granted) return ["waiting", `off duty until ${settings.from}`];
  return notice ? [isGood ? "" : "refused", "stopped"] : ["", "resting"];
}

function show() {
  const [kind, text] = state();
  $("state").className = `pill ${kind}`;
  $("state").textContent = text;
  $("toggle").textContent = settings.armed ? "Stop" : "Start helping";
  $("notice").hidden = !(notice || helper?.trouble);
  $("notice").classList.toggle("good", isGood && !helper?.trouble);
  $("notice").textContent = helper?.trouble || notice;
  const welcome = shown?.welcome;
  $("who").textContent = welcome && helper
    ? `I am ${welcome.helper}${welcome.place ? ` at ${welcome.place}` : ""}, and fetch pages for the crawl “${welcome.terms.crawl}”.`
    : "This browser fetches public pages for a crawl while you let it.";
  const doing = helper ? [...helper.doing.values()] : [];
  $("doing").replaceChildren(...doing.map(({ url, since }) => row(url, `${Math.round((Date.now() - since) / 1000)} s`)));
  $("idle").hidden = doing.length > 0;
  $("idle").textContent = helper ? `Waiting for the crawl to hand me a page${helper.whyIdle && `: ${helper.whyIdle}`}.` : settings.armed ? "Nothing: I am off duty." : "Nothing. This page asks for work only after you press Start.";
  const figures = shown?.figures ?? { pages: 0, links: 0, bytes: 0 };
  $("pages").textContent = figures.pages.toLocaleString("en");
  $("links").textContent = figures.links.toLocaleString("en");
  $("bytes").textContent = size(figures.bytes);
  $("rate").textContent = shown ? shown.perMinute() : 0;
  const recent = shown?.recent ?? [];
  $("recent").replaceChildren(...recent.slice(0, 8).map(({ url, title, fate, at }) => row(url, clock(at), [title, fate].filter(Boolean).join(" · "))));
  $("none").hidden = recent.length > 0;
  $("access").textContent = granted ? "This page may fetch from any site." : "This page may not fetch anything yet. Start asks for it.";
  $("grant").hidden = granted;
  $("withdraw").hidden = !granted;
}

function row(url, time, more = "") {
  const item = document.createElement("li");
  const name = Object.assign(document.createElement("span"), { className: "url", textContent: url, title: url });
  item.append(name, Object.assign(document.createElement("time"), { textContent: time }));
  if (more) item.append(Object.assign(document.createElement("span"), { className: "more", textContent: more }));
  return item;
}

function size(bytes) {
  const step = bytes < 1000 ? 0 : bytes < 1e6 ? 1 : bytes < 1e9 ? 2 : 3;
  return `${(bytes / 1000 ** step).toFixed(step && bytes / 1000 ** step < 100 ? 1 : 0)} ${["B", "kB", "MB", "GB"][step]}`;
}

const clock = (at) => new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });

$("toggle").addEventListener("click", toggle);
$("grant").addEventListener("click", async () => {
  granted = await chrome.permissions.request(ORIGINS);
  look();
});
$("withdraw").addEventListener("click", async () => {
  await arm(false);
  await chrome.permissions.remove(ORIGINS).catch((error) => (notice = error.message));
  granted = await chrome.permissions.contains(ORIGINS);
  look();
});
form.addEventListener("change", readSettings);
form.addEventListener("submit", (event) => event.preventDefault());
addEventListener("pagehide", () => helper?.stop());

granted = await chrome.permissions.contains(ORIGINS);
showSettings();
look();
for (const id of ["decisions", "toggle"]) $(id).disabled = false; // not before: what is typed earlier would be lost
new Worker("ticker.js").onmessage = look;
