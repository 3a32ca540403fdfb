// Which hosts are fetched at all: the public web. The network around this browser is nobody else's business.
// Only what a URL says can be judged here: addresses, and names that always mean this machine or a local network.

const LOCAL = /(^|\.)(localhost|local|internal|lan|home|corp|intranet)\.?$/;
const V4 = [
  [/^0\./, "this network"], [/^10\./, "private"], [/^127\./, "loopback"], [/^169\.254\./, "link-local"],
  [/^192\.168\./, "private"], [/^172\.(1[6-9]|2\d|3[01])\./, "private"],
  [/^100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\./, "carrier-grade NAT"],
  [/^192\.0\.[02]\./, "reserved"], [/^198\.(1[89]|51)\./, "reserved"], [/^203\.0\.113\./, "documentation"],
  [/^(22[4-9]|2[3-5]\d)\./, "multicast or reserved"],
];

// Why this URL is refused, or "".
export function refused(url, allowPrivate) {
  let parsed;
  try {
    parsed = new URL(url);
  } catch {
    return "not a URL";
  }
  if (!["http:", "https:"].includes(parsed.protocol)) return `${parsed.protocol} is not fetched`;
  if (parsed.username || parsed.password) return "a URL with a password";
  if (allowPrivate) return "";
  const host = parsed.hostname; // the browser has made one spelling of every address
  if (host.startsWith("[")) return /^\[[23]/.test(host) && !/^\[2001:d?b?8?:?:|^\[2002:/.test(host) ? "" : "not a public address";
  if (/^[\d.]+$/.test(host)) {
    const found = V4.find(([pattern]) => pattern.test(host));
    return found ? `not a public address (${found[1]})` : "";
  }
  return LOCAL.test(host) || !host.includes(".") ? "a name of a local network" : "";
}
