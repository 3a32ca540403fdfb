// What a page says: title, text and links, as the gatherer's own reader finds them. Links stay as they are written.

const NOT_NOFOLLOW = ':not([rel~="nofollow" i])';
const QUERY = `a[href]${NOT_NOFOLLOW},area[href]${NOT_NOFOLLOW},link[href][rel],meta[content],base[href],iframe[src],frame[src],title`;
const FOLLOWED = new Set(["alternate", "next", "prev", "previous"]);
const FOLLOWED_TYPE = /^\s*(?:text\/html|application\/(?:xhtml|rss|atom|rdf)\+xml|(?:text|application)\/xml)?\s*(?:;|$)/i;
const REFRESH = /^\s*\.?\d[\d.]*\s*[;,\s]\s*(?:url\s*=\s*)?(?:"([^"]*)|'([^']*)|([^\s"'][^]*))/i;
const SKIPPED = new Set(["SCRIPT", "STYLE", "NOSCRIPT", "TEMPLATE", "IFRAME", "OBJECT", "SVG", "NAV", "FORM", "BUTTON", "SELECT"]);
const INLINE = new Set(["A", "ABBR", "B", "BDI", "BDO", "CITE", "CODE", "EM", "FONT", "I", "KBD", "MARK", "Q", "S", "SMALL", "SPAN", "STRONG", "SUB", "SUP", "TIME", "TT", "U", "VAR", "WBR"]);
const TEXT_CHARS = 1 << 19;
const LINE_CHARS = 4096;
const URL_CHARS = 16384;

const squeezed = (text) => text.split(/[\s\u00a0]+/).filter(Boolean).join(" ");

export function isHtml(contentType, bytes) {
  const kind = contentType.split(";")[0].trim().toLowerCase();
  if (["text/html", "application/xhtml+xml"].includes(kind)) return true;
  return !kind && /^\s*<(!doctype html|html)/i.test(new TextDecoder().decode(bytes.subarray(0, 512)));
}

// The text of the bytes: by byte order mark, header, declaration; UTF-8 if it is that. Else null: the gatherer can tell, we would guess.
export function decode(bytes, contentType) {
  const bom = bytes[0] === 0xef && bytes[1] === 0xbb ? "utf-8" : bytes[0] === 0xfe && bytes[1] === 0xff ? "utf-16be" : bytes[0] === 0xff && bytes[1] === 0xfe ? "utf-16le" : "";
  const head = new TextDecoder("windows-1252").decode(bytes.subarray(0, 1024));
  const declared = /charset\s*=\s*["']?([^\s"';>]+)/i;
  const label = bom || declared.exec(contentType)?.[1] || /<meta[^>]+/gi[Symbol.match](head)?.map((meta) => declared.exec(meta)?.[1]).find(Boolean);
  if (label) {
    try {
      return new TextDecoder(bom || !/^utf-?16/i.test(label) ? label : "utf-8").decode(bytes);
    } catch {
      // an unknown label counts as none
    }
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

export function read(markup, { agent, maxLinks, withText }) {
  const page = new DOMParser().parseFromString(markup, "text/html");
  const found = { title: "", description: "", hrefs: [], base: "", canonical: "", refresh: "", language: "" };
  const directives = [];
  let ogDescription = "", titled = false;
  for (const node of page.querySelectorAll(QUERY)) {
    const get = (name) => node.getAttribute(name) ?? "";
    switch (node.localName) {
      case "a":
      case "area":
        found.hrefs.push(get("href"));
        break;
      case "iframe":
      case "frame":
        found.hrefs.push(get("src"));
        break;
      case "base":
        found.base ||= get("href");
        break;
      case "title":
        if (!titled && !node.closest("svg")) {
          titled = true;
          found.title = squeezed(node.textContent);
        }
        break;
      case "link": {
        const relations = get("rel").toLowerCase().split(/\s+/);
        if (relations.includes("stylesheet")) break;
        if (relations.includes("canonical")) found.canonical ||= get("href");
        else if (relations.some((each) => FOLLOWED.has(each)) && !relations.includes("nofollow") && FOLLOWED_TYPE.test(get("type")))
          found.hrefs.push(get("href"));
        break;
      }
      case "meta": {
        const name = (get("name") || get("property")).toLowerCase(), content = get("content");
        if (name === "description") found.description ||= squeezed(content);
        else if (name === "og:description") ogDescription ||= squeezed(content);
        else if (name === "robots" || name === agent) directives.push(...content.toLowerCase().split(",").map((each) => each.trim()));
        else if (!name && get("http-equiv").toLowerCase() === "refresh") {
          const match = REFRESH.exec(content);
          found.refresh ||= match ? (match[1] ?? match[2] ?? match[3] ?? "").trim() : "";
        }
      }
    }
  }
  const language = /^\s*([A-Za-z]{2,3})(?:[-_,]|\s*$)/.exec(page.documentElement.getAttribute("lang") ?? "")?.[1] ?? "";
  return {
    ...found,
    title: found.title.slice(0, LINE_CHARS),
    description: (found.description || ogDescription).slice(0, LINE_CHARS),
    language: language.toLowerCase(),
    hrefs: found.hrefs.slice(0, maxLinks).filter((href) => href.length <= URL_CHARS),
    noindex: directives.includes("noindex") || directives.includes("none"),
    nofollow: directives.includes("nofollow") || directives.includes("none"),
    text: withText ? mainText(page).slice(0, TEXT_CHARS) : "",
  };
}

// The longest of the elements that call themselves the main thing, or the body without its furniture.
function mainText(page) {
  const mains = [...page.querySelectorAll("main,[role=main],article")].map(textOf);
  const longest = mains.reduce((best, text) => (text.length > best.length ? text : best), "");
  return longest.length > 200 || !page.body ? longest : textOf(page.body);
}

function textOf(root) {
  const parts = [];
  const walk = (node) => {
    for (const child of node.childNodes) {
      if (child.nodeType === Node.TEXT_NODE) parts.push(child.data.replace(/\s+/g, " "));
      else if (child.nodeType === Node.ELEMENT_NODE && !SKIPPED.has(child.tagName.toUpperCase())) {
        const isBlock = !INLINE.has(child.tagName);
        if (isBlock) parts.push("\n");
        walk(child);
        if (isBlock) parts.push("\n");
      }
    }
  };
  walk(root);
  return parts.join("").replace(/ *\n[\s]*/g, "\n").replace(/ {2,}/g, " ").trim();
}
