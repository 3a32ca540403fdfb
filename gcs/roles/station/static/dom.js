// Elements: making them, and keeping lists of them as they change, so that focus and open details stay.

const SVG = "http://www.w3.org/2000/svg";

export const $ = (id) => document.getElementById(id);

/** An element. Properties go to attributes; on… to listeners; text and nodes are appended as text and nodes. */
export function h(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  return fill(node, properties, children);
}

/** The same for SVG. */
export function s(tag, properties = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

function fill(node, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(node.style, value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

/** Set a text only if it differs: a reader's selection stays. */
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Let the children of `parent` be one for each item, in order; those whose key is known are updated in place. */
export function keep(parent, items, key, make, update) {
  const known = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  const used = new Set();
  let at = parent.firstElementChild;
  for (const item of items) {
    const name = String(key(item));
    let node = known.get(name);
    if (!node || used.has(node)) {
      node = make(item);
      node.dataset.key = name;
    }
    used.add(node);
    update(node, item);
    if (node === at) at = at.nextElementSibling;
    else parent.insertBefore(node, at);
  }
  for (const child of [...parent.children]) if (!used.has(child)) child.remove();
}

/** An http(s) link to somewhere else; anything else is text. */
export function link(url, text) {
  const isWeb = /^https?:\/\//.test(url);
  return isWeb
    ? h("a", { href: url, target: "_blank", rel: "noopener noreferrer nofollow" }, text)
    : h("span", {}, text);
}

const tip = () => $("tip");

/** Show the tip near a place of the window. */
export function showTip(x, y, ...content) {
  const box = tip();
  box.replaceChildren(...content);
  box.hidden = false;
  const width = box.offsetWidth;
  const height = box.offsetHeight;
  const left = x + 14 + width > innerWidth ? x - width - 14 : x + 14;
  box.style.left = `${Math.max(left, 6)}px`;
  box.style.top = `${Math.min(Math.max(y - height / 2, 6), innerHeight - height - 6)}px`;
}

export function hideTip() {
  tip().hidden = true;
}
