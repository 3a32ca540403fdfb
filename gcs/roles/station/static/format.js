// Figures and times as people read them.

const whole = new Intl.NumberFormat("en");
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const shortClock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

export const count = (value) => whole.format(Math.round(value));

/** 12,345 up to 99,999, then 1.23 M. */
export function brief(value) {
  for (const [limit, unit] of [[1e9, "G"], [1e6, "M"], [1e5, "k"]]) {
    if (Math.abs(value) >= limit) {
      const scaled = value / (unit === "k" ? 1e3 : limit);
      return `${scaled.toPrecision(3).replace(/\.?0+$/, (zeros) => (zeros.startsWith(".") ? "" : zeros))} ${unit}`;
    }
  }
  return Math.abs(value) < 10 && value % 1 ? value.toFixed(1) : count(value);
}

export const percent = (share) => `${(100 * share).toFixed(share > 0 && share < 0.0995 ? 1 : 0)} %`;

export function bytes(value) {
  for (const [limit, unit] of [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"]]) {
    if (value >= limit) return `${(value / limit).toFixed(value >= 100 * limit ? 0 : 1)} ${unit}`;
  }
  return `${Math.round(value)} B`;
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "unknown";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  const steps = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  const at = steps.findIndex(([, size]) => seconds >= size);
  const [unit, size] = steps[at];
  const first = Math.floor(seconds / size);
  const next = steps[at + 1];
  const rest = next && first < 10 ? Math.floor((seconds - first * size) / next[1]) : 0;
  return rest ? `${first} ${unit} ${rest} ${next[0]}` : `${first} ${unit}`;
}

export const time = (at) => clock.format(at * 1000);
/** A moment of the last day by its time, one before that with its date. */
export const moment = (at, now) => (now - at > 86400 ? day : clock).format(at * 1000);
export const axisTime = (at, span) => (span > 172800 ? day : span > 1800 ? shortClock : clock).format(at * 1000);

export function ago(at, now) {
  const seconds = Math.max(now - at, 0);
  return seconds < 2 ? "now" : `${duration(seconds).split(" ").slice(0, 2).join(" ")} ago`;
}
