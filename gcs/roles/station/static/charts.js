// Lines over time, in SVG: an area, a grid, and what the pointer is at.

import { $, h, s, hideTip, showTip } from "./dom.js";
import { axisTime, brief, time } from "./format.js";

const LEFT = 46;
const RIGHT = 10;
const TOP = 8;
const BOTTOM = 22;

/** Round values that divide 0…most into a few steps. */
export function ticks(most, wanted = 4) {
  if (!(most > 0)) return [0, 1];
  const raw = most / wanted;
  const size = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * size).find((each) => each >= raw);
  const found = [];
  for (let at = 0; at < most + step * 0.999; at += step) found.push(at);
  return found;
}

/** A chart in `place` of `lines`: [{ name, colour (a CSS variable or colour), of: point => value, area }]. */
export class Chart {
  constructor(place, title, lines) {
    this.place = place;
    this.title = title;
    this.lines = lines;
    this.points = [];
    this.svg = s("svg", { role: "img", "aria-label": title });
    place.append(this.svg);
    new ResizeObserver(() => this.draw()).observe(place);
    place.addEventListener("pointermove", (event) => this.point(event));
    place.addEventListener("pointerleave", () => this.unpoint());
  }

  show(points) {
    this.points = points;
    this.draw();
  }

  draw() {
    const { clientWidth: width, clientHeight: height } = this.place;
    if (!width || !height) return;
    const points = this.points;
    const first = points.length ? points[0].at : 0;
    const last = points.length ? Math.max(points[points.length - 1].at, first + 10) : 10;
    const most = Math.max(4, ...points.flatMap((point) => this.lines.map((line) => line.of(point))));
    const marks = ticks(most);
    const top = marks[marks.length - 1];
    this.x = (at) => LEFT + ((at - first) / (last - first)) * (width - LEFT - RIGHT);
    this.y = (value) => TOP + (1 - value / top) * (height - TOP - BOTTOM);

    const parts = [];
    for (const mark of marks) {
      const y = this.y(mark);
      parts.push(s("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y, y2: y }));
      parts.push(s("text", { x: LEFT - 8, y: y + 4, "text-anchor": "end" }, brief(mark)));
    }
    if (points.length) {
      const times = Math.max(2, Math.min(6, Math.floor(width / 110)));
      for (let at = 0; at < times; at++) {
        const when = first + ((last - first) * at) / (times - 1);
        const anchor = at === 0 ? "start" : at === times - 1 ? "end" : "middle";
        const text = axisTime(when, last - first);
        parts.push(s("text", { x: this.x(when), y: height - 4, "text-anchor": anchor }, text));
      }
    }
    for (const line of this.lines) parts.push(...this.line(line));
    this.rule = s("line", { class: "rule", y1: TOP, y2: height - BOTTOM, visibility: "hidden" });
    parts.push(this.rule);
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.setAttribute("aria-label", this.summary());
    this.svg.replaceChildren(...parts);
  }

  line(line) {
    if (!this.points.length) return [];
    const way = this.points.map((point) => `${this.x(point.at).toFixed(1)},${this.y(line.of(point)).toFixed(1)}`);
    const last = this.points[this.points.length - 1];
    const parts = [];
    if (line.area) {
      const floor = this.y(0).toFixed(1);
      const outline = `${this.x(this.points[0].at)},${floor} ${way.join(" ")} ${this.x(last.at).toFixed(1)},${floor}`;
      parts.push(s("polygon", { points: outline, style: { fill: line.colour, opacity: "0.13" } }));
    }
    parts.push(s("polyline", { class: "line", points: way.join(" "), style: { stroke: line.colour } }));
    const end = { cx: this.x(last.at), cy: this.y(line.of(last)), r: 3.5, style: { fill: line.colour } };
    parts.push(s("circle", end));
    return parts;
  }

  summary() {
    const last = this.points[this.points.length - 1];
    if (!last) return `${this.title}: nothing yet`;
    return `${this.title}: ${this.lines.map((line) => `${line.name} ${brief(line.of(last))}`).join(", ")} now`;
  }

  point(event) {
    if (!this.points.length || !this.x) return;
    const left = event.clientX - this.place.getBoundingClientRect().left;
    let nearest = this.points[0];
    for (const point of this.points) {
      if (Math.abs(this.x(point.at) - left) < Math.abs(this.x(nearest.at) - left)) nearest = point;
    }
    const x = this.x(nearest.at);
    this.rule.setAttribute("x1", x);
    this.rule.setAttribute("x2", x);
    this.rule.setAttribute("visibility", "visible");
    const rows = this.lines.map((line) =>
      h("div", {}, h("span", { class: "key", style: { background: line.colour } }), `${line.name}: ${brief(line.of(nearest))}`),
    );
    showTip(event.clientX, event.clientY, h("strong", {}, time(nearest.at)), ...rows);
  }

  unpoint() {
    hideTip();
    this.rule?.setAttribute("visibility", "hidden");
  }
}

/** A chart in a card of its own, on the page behind those before; with a legend if it has several lines. */
export function chartCard(id, heading, title, lines) {
  const place = h("div", { id: `${id}-chart`, class: "chart" });
  const head = h("div", { class: "card-head" }, h("h2", { id: `${id}-title` }, heading));
  if (lines.length > 1) {
    const keys = lines.map((line) => h("li", {}, h("span", { class: "key", style: { background: line.colour } }), line.name));
    head.append(h("ul", { class: "legend", "aria-label": "Lines" }, ...keys));
  }
  $("charts-end").before(h("section", { class: "card half", "aria-labelledby": `${id}-title` }, head, place));
  return new Chart(place, title, lines);
}
