// The gateway of a crawl, as a helper sees it: JSON over HTTP, with a token.

export class Refused extends Error {} // it says no: ask no more
export class Over extends Refused {} // there is nothing left to do
export class Late extends Error {} // this errand is ours no longer
export class Away extends Error {} // it does not answer: try again

const NO = {
  401: "The token is wrong, or was revoked. Ask whoever runs the crawl for another.",
  403: "This token may not help here.",
  404: "There is no gateway at this address.",
  421: "The station is not known by this name.",
};

export class Gateway {
  constructor(address, token) {
    this.address = address.replace(/\/+$/, "");
    this.token = token;
  }

  async ask(verb, message, signal) {
    let answer;
    try {
      answer = await fetch(`${this.address}/gateway/${verb}`, {
        method: "POST",
        headers: { Authorization: `Bearer ${this.token}`, "Content-Type": "application/json" },
        body: JSON.stringify(message),
        credentials: "omit",
        cache: "no-store",
        redirect: "error",
        referrerPolicy: "no-referrer",
        signal,
      });
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new Away("The gateway does not answer.");
    }
    if (answer.ok) return answer.json();
    const said = await answer.json().then((problem) => problem.detail || "", () => "");
    if (answer.status === 409 && verb !== "hello") throw new Late(said);
    if (answer.status in NO) throw new Refused(answer.status === 403 && said ? said : NO[answer.status]);
    if ([409, 429, 502, 503, 504].includes(answer.status)) throw new Away(said || `The gateway answers ${answer.status}.`);
    throw new Refused(`The gateway refuses ${verb}: ${said || answer.status}`);
  }
}
