// The URL tree as a squarified treemap. A tile is a button: click or Enter goes down, the crumbs go up.

import { get } from "./api.js";
import { $, h, hideTip, keep, say, showTip } from "./dom.js";
import { brief, count, percent } from "./format.js";
import { colour, paint } from "./owners.js";

const HEAD = 21;
const GAP = 2;
// Tiles: so many that most can be read, on a phone too.
const NARROW = 600;
const [FEW, MOST] = [18, 48];

/** Rectangles of the sizes given, near to squares (Bruls, Huizing and van Wijk). */
export function squarify(sizes, box) {
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (!total || box.width <= 0 || box.height <= 0) return sizes.map(() => ({ ...box, width: 0, height: 0 }));
  const scale = (box.width * box.height) / total;
  const areas = sizes.map((size) => size * scale);
  const places = [];
  let { x, y, width, height } = box;
  let row = [];
  const worst = (areasOfRow, side) => {
    const sum = areasOfRow.reduce((a, b) => a + b, 0);
    return Math.max(...areasOfRow.map((area) => Math.max((side * side * area) / (sum * sum), (sum * sum) / (side * side * area))));
  };
  const lay = () => {
    const sum = row.reduce((a, b) => a + b, 0);
    const upright = width >= height;
    const depth = upright ? sum / height : sum / width;
    let at = upright ? y : x;
    for (const area of row) {
      const long = area / depth || 0;
      places.push(upright ? { x, y: at, width: depth, height: long } : { x: at, y, width: long, height: depth });
      at += long;
    }
    if (upright) [x, width] = [x + depth, width - depth];
    else [y, height] = [y + depth, height - depth];
    row = [];
  };
  for (const area of areas) {
    const side = Math.min(width, height);
    if (row.length && worst([...row, area], side) > worst(row, side)) lay();
    row.push(area);
  }
  if (row.length) lay();
  return places;
}

export class Treemap {
  constructor() {
    this.place = $("treemap");
    this.path = "";
    this.after = 0;
    this.root = null;
    this.trail = [{ path: "", name: "the web" }];
    new ResizeObserver(() => this.draw()).observe(this.place);
    this.place.addEventListener("click", (event) => this.enter(event));
    this.place.addEventListener("pointermove", (event) => this.point(event));
    this.place.addEventListener("pointerleave", hideTip);
    this.place.addEventListener("focusin", (event) => this.describe(event.target));
    this.place.addEventListener("focusout", hideTip);
    this.place.addEventListener("keydown", (event) => {
      if ((event.key === "Escape" || event.key === "Backspace") && this.trail.length > 1) this.go(this.trail.length - 2);
    });
  }

  /** Another crawl: its tree, from the root. */
  begin(call) {
    this.call = call;
    this.path = "";
    this.root = null;
    this.trail = [{ path: "", name: "the web" }];
    this.after = 0;
    this.draw();
  }

  async refresh() {
    const { path, after, call } = this;
    const root = await get(`${call}?${new URLSearchParams({ path, after, levels: 2, most: this.place.clientWidth < NARROW ? FEW : MOST })}`);
    if (path !== this.path || after !== this.after || call !== this.call) return; // gone elsewhere meanwhile
    this.root = root;
    this.draw();
  }

  async go(at) {
    this.trail = this.trail.slice(0, at + 1);
    this.path = this.trail[at].path;
    this.after = this.trail[at].after ?? 0;
    hideTip();
    await this.refresh();
    (this.place.querySelector("button") ?? this.place).focus({ preventScroll: true });
  }

  enter(event) {
    const tile = event.target.closest("[data-path]");
    if (!tile) return;
    this.trail.push({ path: tile.dataset.path, name: tile.dataset.name, after: Number(tile.dataset.after) });
    this.go(this.trail.length - 1);
  }

  draw() {
    this.crumbs();
    const { clientWidth: width, clientHeight: height } = this.place;
    if (!this.root || !width) return;
    const tiles = [];
    const shown = this.root.children.filter((child) => child.urls > 0);
    const box = { x: 0, y: 0, width, height };
    if (!shown.length && this.root.urls) tiles.push({ node: this.root, box, leaf: true, alone: true });
    squarify(shown.map((child) => child.urls), box).forEach((place, at) => this.lay(shown[at], place, tiles));
    if (!tiles.length) return this.place.replaceChildren(h("p", { class: "empty nothing" }, "Nothing is known yet."));
    keep(this.place, tiles, (tile) => this.key(tile), (tile) => this.make(tile), (node, tile) => this.update(node, tile));
  }

  key(tile) {
    return `${tile.leaf ? "leaf" : "group"}|${goesDown(tile)}|${tile.node.path}|${tile.node.after}|${tile.node.name}`;
  }

  lay(node, place, tiles) {
    const box = { x: place.x + GAP / 2, y: place.y + GAP / 2, width: place.width - GAP, height: place.height - GAP };
    const below = (node.children ?? []).filter((child) => child.urls > 0);
    const isGroup = below.length > 1 && box.width > 84 && box.height > 64;
    tiles.push({ node, box, leaf: !isGroup });
    if (!isGroup) return;
    const inner = { x: box.x + GAP, y: box.y + HEAD, width: box.width - 2 * GAP, height: box.height - HEAD - GAP };
    squarify(below.map((child) => child.urls), inner).forEach((at, index) => {
      const small = { x: at.x + 0.5, y: at.y + 0.5, width: at.width - 1, height: at.height - 1 };
      if (small.width > 3 && small.height > 3) tiles.push({ node: below[index], box: small, leaf: true, inside: true });
    });
  }

  make(tile) {
    const { node, leaf } = tile;
    const kind = `tile ${leaf ? "leaf" : "group"}`;
    const parts = [
      h("span", { class: "done" }),
      h("span", { class: "label" }, h("span", {}), h("small", {}), h("span", { class: "spoken" })),
    ];
    return goesDown(tile)
      ? h("button", { type: "button", class: kind, "data-path": node.path, "data-after": node.after, "data-name": node.gathered ? `${count(node.gathered)} others` : node.name }, ...parts)
      : h("div", { class: kind }, ...parts);
  }

  update(button, { node, box, leaf }) {
    const { x, y, width, height } = box;
    Object.assign(button.style, { left: `${x}px`, top: `${y}px`, width: `${Math.max(width, 0)}px`, height: `${Math.max(height, 0)}px` });
    button.style.background = leaf ? paint(node.owners) : "var(--group)";
    const [done, label] = button.children;
    done.style.height = leaf ? `${100 * (1 - node.queued / Math.max(node.urls, 1))}%` : "0";
    const name = node.gathered ? `${count(node.gathered)} others` : node.name;
    say(label.children[0], name);
    say(label.children[1], leaf && height > 40 ? brief(node.urls) : "");
    const owners = Object.keys(node.owners).join(", ");
    say(label.children[2], `: ${count(node.urls)} URLs, ${count(node.queued)} queued, owned by ${owners}`);
    label.classList.toggle("spoken", width < 44 || height < 20);
    label.classList.toggle("tall", leaf && height > 58 && width > 50); // a long name takes a second line
    button.tile = node;
  }

  crumbs() {
    const key = this.trail.map((step) => `${step.path} ${step.after ?? 0}`).join("\n");
    if (this.shown === key) return;
    this.shown = key;
    const last = this.trail.length - 1;
    $("crumbs").replaceChildren(
      ...this.trail.flatMap((step, at) => [
        at ? h("i", { "aria-hidden": "true" }, "›") : null,
        at === last
          ? h("span", { "aria-current": "location" }, step.name)
          : h("button", { type: "button", onclick: () => this.go(at) }, step.name),
      ]).filter(Boolean),
    );
  }

  point(event) {
    const tile = event.target.closest(".tile");
    if (tile) this.tell(tile.tile, event.clientX, event.clientY);
  }

  describe(tile) {
    if (!tile.tile || !tile.matches(":focus-visible")) return;
    const { right, top } = tile.getBoundingClientRect();
    this.tell(tile.tile, right, top);
  }

  tell(node, x, y) {
    const owners = Object.entries(node.owners).sort((a, b) => b[1] - a[1]).slice(0, 6);
    showTip(
      x, y,
      h("strong", {}, node.gathered ? `${count(node.gathered)} others` : node.name),
      h("div", {}, `${count(node.urls)} URLs, ${percent(1 - node.queued / Math.max(node.urls, 1))} fetched`),
      ...owners.map(([name, urls]) =>
        h("div", {}, h("span", { class: "key", style: { background: colour(name) } }), `${name} ${percent(urls / Math.max(node.urls, 1))}`),
      ),
    );
  }
}

const goesDown = ({ node, alone }) => (node.is_inner || node.gathered > 0) && !alone;

/** The owners and their colours. */
export function legend(names) {
  keep($("legend"), names, (name) => name,
    (name) => h("li", {}, h("span", { class: "key", style: { background: colour(name) } }), name), () => {});
}
