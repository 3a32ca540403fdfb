// One page: fetched without cookies, logins or cache, within bounds of time and size, and summed up.

import { refused } from "./guard.js";
import { decode, isHtml, read } from "./reader.js";

const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
// The part of a lease that a request may take.
const SHARE = 0.75;
const SPEAKING = ["content-type", "etag", "last-modified"];

// What there is to say of an errand, as the gateway wants it. Without a status it says: fetch it yourself.
export async function fulfil(errand, terms, settings, signal) {
  const claim = { id: errand.id, url: errand.url };
  const pass = (message) => ({ ...claim, message });
  const why = refused(errand.url, settings.allowPrivate && terms.fetch.allow_private);
  if (why) return pass(why);
  const startedAt = Date.now() / 1000;
  const began = performance.now();
  let answer, bytes;
  try {
    answer = await fetch(errand.url, {
      credentials: "omit",
      cache: "no-store",
      redirect: "manual", // where a page was moved to is for its gatherer to see
      referrerPolicy: "no-referrer",
      headers: { Accept: terms.fetch.accept },
      signal: AbortSignal.any([signal, AbortSignal.timeout(SHARE * errand.lease_s * 1000)]),
    });
    if (answer.type === "opaqueredirect") return pass("moved");
    bytes = await bounded(answer, terms.fetch.max_content_bytes);
  } catch (error) {
    return pass(error.name === "TimeoutError" ? "too slow" : "no answer");
  }
  if (!bytes) return { ...claim, failure: "too-large" };
  if (!answer.ok) return pass(`status ${answer.status}`);
  const contentType = answer.headers.get("content-type") ?? "";
  if (!isHtml(contentType, bytes)) return pass("no HTML page");
  const { noindex, nofollow } = directives(answer.headers.get("x-robots-tag") ?? "", terms.fetch.robots_token);
  const markup = decode(bytes, contentType);
  if (markup === null) return pass("no charset");
  const page = read(markup, {
    agent: terms.fetch.robots_token,
    maxLinks: Math.min(terms.summary.max_links, 50000),
    withText: terms.summary.depth !== "links",
  });
  return {
    ...claim,
    ...page,
    noindex: page.noindex || noindex,
    nofollow: page.nofollow || nofollow,
    status: answer.status,
    headers: SPEAKING.filter((name) => answer.headers.has(name)).map((name) => [name, answer.headers.get(name)]),
    started_at: startedAt,
    elapsed_s: (performance.now() - began) / 1000,
    size_bytes: bytes.length,
    digest: await digest(bytes),
  };
}

// The body, or null if it is larger than this.
async function bounded(answer, limit) {
  const chunks = [];
  let size = 0;
  if (!answer.body) return new Uint8Array();
  for (const reader = answer.body.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > limit) {
      await reader.cancel();
      return null;
    }
    chunks.push(value);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

async function digest(bytes) {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-1", bytes));
  let text = "", held = 0, bits = 0;
  for (const octet of hash) {
    held = (held << 8) | octet;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += BASE32[(held >> bits) & 31];
    }
    held &= (1 << bits) - 1;
  }
  return `sha1:${text}`;
}

function directives(header, agent) {
  const words = new Set();
  for (const field of header.toLowerCase().split(",")) {
    const [addressee, colon, rest] = field.split(/(:)/);
    if (!colon) words.add(field.trim());
    else if (addressee.trim() === agent) words.add(rest.trim());
  }
  return { noindex: words.has("noindex") || words.has("none"), nofollow: words.has("nofollow") || words.has("none") };
}
