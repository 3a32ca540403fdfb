// A colour for each gatherer, the same everywhere. White text is readable on all of them.

const COLOURS = [
  "#2563eb", "#b45309", "#047857", "#be185d", "#6d28d9", "#0e7490",
  "#b91c1c", "#4d7c0f", "#475569", "#a21caf", "#9a3412", "#1e40af",
];
const given = new Map();

/** Names keep their colours as long as the page is open; g0, g1, … get the same ones on every page. */
export function colour(name) {
  if (!given.has(name)) {
    const number = /(\d+)$/.exec(name);
    const taken = new Set(given.values());
    const wished = number ? COLOURS[Number(number[1]) % COLOURS.length] : undefined;
    const free = COLOURS.find((each) => !taken.has(each)) ?? `hsl(${((given.size * 137.5) % 360).toFixed()} 62% 28%)`;
    given.set(name, wished && !taken.has(wished) ? wished : free);
  }
  return given.get(name);
}

/** One colour, or stripes as wide as each owner's part. */
export function paint(owners) {
  const parts = Object.entries(owners).sort((a, b) => b[1] - a[1]);
  const total = parts.reduce((sum, [, urls]) => sum + urls, 0) || 1;
  if (!parts.length) return "#475569";
  if (parts.length === 1 || parts[0][1] / total > 0.98) return colour(parts[0][0]);
  let at = 0;
  const stops = parts.map(([name, urls]) => {
    const from = at;
    at += (100 * urls) / total;
    return `${colour(name)} ${from.toFixed(1)}% ${at.toFixed(1)}%`;
  });
  return `linear-gradient(100deg, ${stops.join(", ")})`;
}
