// The helper: takes errands, fetches, puts what it found. It holds no more than it is doing, and keeps nothing.

import { fulfil } from "./fetcher.js";
import { Away, Gateway, Late, Over, Refused } from "./gateway.js";

const WAIT_S = 3;
const PAUSE_MS = 2000;
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export class Helper {
  // `changed` is called when there is something new to show; `ended(why, isGood)` when the gateway wants no more help.
  constructor(settings, changed, ended) {
    Object.assign(this, { settings, changed, ended });
    this.gateway = new Gateway(settings.gateway, settings.token);
    this.stopping = new AbortController();
    this.doing = new Map(); // errand id → { url, since }
    this.recent = []; // the last ones, the newest first
    this.figures = { pages: 0, links: 0, bytes: 0, passed: 0 };
    this.starts = []; // times of the last minute's starts
    this.trouble = "";
    this.whyIdle = ""; // why the crawl has nothing to do for this helper
    this.welcome = null;
  }

  async run() {
    const ticker = new Worker("ticker.js");
    try {
      this.welcome = await this.patiently(() => this.ask("hello", { agent: navigator.userAgent.slice(0, 200) }));
      if (this.welcome.terms.summary.images) throw new Refused("This crawl follows pictures, which this helper does not.");
      ticker.onmessage = () => this.beat();
      this.beat();
      while (!this.stopping.signal.aborted) await this.step();
    } catch (error) {
      if (!this.stopping.signal.aborted) this.ended(error instanceof Refused ? error.message : `It broke: ${error.message}`);
    } finally {
      ticker.terminate();
      this.stopping.abort();
      await this.gateway.ask("bye", {}).catch(() => {});
      this.doing.clear();
      this.changed();
    }
  }

  // Takes nothing more, and gives back what it holds.
  stop() {
    const ids = [...this.doing.keys()];
    this.stopping.abort();
    if (ids.length) this.gateway.ask("return", { ids }).catch(() => {});
  }

  async step() {
    const free = Math.min(this.settings.connections - this.doing.size, this.allowed());
    if (free <= 0) {
      await new Promise((resolve) => {
        this.wake = resolve;
        setTimeout(resolve, 500);
      });
      return;
    }
    const { errands } = await this.patiently(() => this.ask("take", { limit: free, timeout_s: WAIT_S }));
    for (const errand of errands) this.do(errand).catch((error) => this.fail(error));
  }

  async do(errand) {
    this.doing.set(errand.id, { url: errand.url, since: Date.now() });
    this.starts.push(Date.now());
    this.changed();
    const claim = await fulfil(errand, this.welcome.terms, this.settings, this.stopping.signal);
    if (this.stopping.signal.aborted) return;
    let fate = claim.status ? `${claim.status}, ${claim.hrefs.length} links` : `left to the crawl: ${claim.failure || claim.message}`;
    try {
      await this.patiently(() => this.ask("put", claim));
      if (claim.status) {
        this.figures.pages += 1;
        this.figures.links += claim.hrefs.length;
        this.figures.bytes += claim.size_bytes;
      } else this.figures.passed += 1;
    } catch (error) {
      if (!(error instanceof Late)) throw error;
      fate = "too late";
    } finally {
      this.doing.delete(errand.id);
      this.wake?.();
    }
    this.recent = [{ url: errand.url, title: claim.title ?? "", fate, at: Date.now() }, ...this.recent].slice(0, 30);
    this.changed();
  }

  // How many pages may be started now under the limit per minute.
  allowed() {
    const before = Date.now() - 60_000;
    this.starts = this.starts.filter((at) => at > before);
    return this.settings.perMinute ? this.settings.perMinute - this.starts.length : Infinity;
  }

  perMinute() {
    const before = Date.now() - 60_000;
    return this.starts.filter((at) => at > before).length;
  }

  beat() {
    const able = this.settings.perMinute && this.allowed() <= 0 ? 0 : this.settings.connections;
    this.ask("beat", { connections: able, pages_per_s: this.perMinute() / 60 })
      .then(({ is_over, why_idle }) => {
        this.whyIdle = why_idle ?? "";
        if (is_over) this.fail(new Over("The crawl is over. Thank you!"));
      })
      .catch((error) => error instanceof Away || this.fail(error));
  }

  fail(error) {
    if (this.stopping.signal.aborted) return;
    this.stop();
    this.ended(error.message, error instanceof Over);
  }

  ask(verb, message) {
    return this.gateway.ask(verb, message, this.stopping.signal);
  }

  // Until the gateway answers.
  async patiently(ask) {
    for (;;) {
      try {
        const answer = await ask();
        this.trouble = "";
        return answer;
      } catch (error) {
        if (!(error instanceof Away) || this.stopping.signal.aborted) throw error;
        this.trouble = error.message;
        this.changed();
        await pause(PAUSE_MS);
      }
    }
  }
}
