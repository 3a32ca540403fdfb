// Talking to the station: calls, live events, and the token that both carry.

const PLACE = "gcs-token";

/** The token of this tab: from the address (#token=…, which is then wiped), or from before. */
export function token() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    sessionStorage.setItem(PLACE, given);
    history.replaceState(null, "", location.pathname + location.search);
  }
  return sessionStorage.getItem(PLACE);
}

export function keepToken(value) {
  if (value) sessionStorage.setItem(PLACE, value);
  else sessionStorage.removeItem(PLACE);
}

/** A refusal or failure, with what the station says about it. */
export class Refused extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

function headers(held = token()) {
  return held ? { Authorization: `Bearer ${held}` } : {};
}

async function checked(response) {
  if (response.ok) return response;
  const problem = await response.json().catch(() => ({}));
  throw new Refused(response.status, problem.detail || response.statusText);
}

export async function get(path, held) {
  return (await checked(await fetch(path, { headers: headers(held) }))).json();
}

export async function post(path, body) {
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  const type = body === undefined ? {} : { "Content-Type": "application/json" };
  return (await checked(await fetch(path, { method: "POST", headers: { ...headers(), ...type }, ...sent }))).json();
}

/** Read server-sent events until they end; `fetch`, because EventSource can send no token. */
async function read(path, signal, tell, opened) {
  const response = await checked(await fetch(path, { headers: headers(), signal, cache: "no-store" }));
  opened();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const topic = /^event: (.*)$/m.exec(event);
      const data = /^data: (.*)$/m.exec(event);
      if (topic && data) tell(topic[1], JSON.parse(data[1]));
    }
  }
}

/** The live values of a crawl, until `stop` of what is returned is called. */
export function follow(path, tell, connected) {
  const mine = new AbortController();
  const go = async () => {
    let wait = 500;
    while (!mine.signal.aborted) {
      try {
        await read(path, mine.signal, tell, () => {
          wait = 500;
          connected(true);
        });
        if (!mine.signal.aborted) connected(false, null);
      } catch (error) {
        if (mine.signal.aborted) return;
        connected(false, error);
      }
      await new Promise((resolve) => setTimeout(resolve, wait));
      wait = Math.min(wait * 1.6, 5000);
    }
  };
  go();
  return { stop: () => mine.abort() };
}
