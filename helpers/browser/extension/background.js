// Opens the helper's page: when its button is pressed, and when a shift begins. All work is done in that page, in plain sight.

import { load } from "./settings.js";
import { isOnDuty } from "./schedule.js";

const PAGE = chrome.runtime.getURL("page.html");

async function show(active) {
  const [context] = await chrome.runtime.getContexts({ contextTypes: ["TAB"], documentUrls: [PAGE] });
  if (!context) await chrome.tabs.create({ url: PAGE, active });
  else if (active) await chrome.tabs.update(context.tabId, { active: true });
}

chrome.action.onClicked.addListener(() => show(true));
chrome.runtime.onInstalled.addListener(() => chrome.alarms.create("look", { periodInMinutes: 1 }));
chrome.runtime.onStartup.addListener(() => chrome.alarms.create("look", { periodInMinutes: 1 }));
chrome.alarms.onAlarm.addListener(async () => {
  const settings = await load();
  if (settings.armed && settings.shift && isOnDuty(settings, new Date())) await show(false);
});
