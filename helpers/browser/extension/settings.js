// What the owner of this browser has decided. It is all that is kept, and it is kept in this browser only.

export const DEFAULTS = {
  gateway: "",
  token: "",
  connections: 4,
  perMinute: 0, // pages; 0: as many as there are
  shift: false, // help at these hours only
  from: "22:00",
  to: "06:00",
  days: [0, 1, 2, 3, 4, 5, 6], // on which a shift begins; 0 is Sunday
  allowPrivate: false,
  armed: false, // Start was pressed, and Stop was not
};

export async function load() {
  return { ...DEFAULTS, ...(await chrome.storage.local.get(DEFAULTS)) };
}

export async function save(changes) {
  await chrome.storage.local.set(changes);
}
