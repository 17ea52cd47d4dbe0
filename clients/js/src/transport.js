// The way to the server, by `fetch`: in a browser and in Node.

import { utf8Length } from "./bytes.js";

/** A request of an account or of sharing that the server refused. */
export class ServerError extends Error {
  name = "ServerError";

  constructor(problem) {
    super(problem.detail ?? problem.title ?? problem.code);
    this.code = problem.code;
    this.problem = problem;
  }
}

/** The server can't be reached, or nobody is signed in. */
export class SyncError extends Error {
  name = "SyncError";

  /** @param code `offline` or `signed-out` */
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

const silence = 30_000;
/** The bytes a millisecond at which a request is sent at the least. */
const slowest = 4;

/** Sends requests to a server. */
export class FetchTransport {
  /**
   * @param server the server's address; in a browser the page's own origin unless given.
   * @param timers `{setTimeout, clearTimeout}`
   */
  constructor(server = globalThis.location?.origin, { fetch = globalThis.fetch.bind(globalThis), timers = globalThis } = {}) {
    this.server = server;
    this.fetch = fetch;
    this.timers = timers;
  }

  credentials({ cookie = null }) {
    return cookie === null ? "omit" : "same-origin";
  }

  headers({ token, cookie = null }, more = {}) {
    const headers = { Accept: "application/json", ...more };
    if (token) headers.Authorization = `Bearer ${token}`;
    // Pages of other origins can't send it without asking first: it shows that the cookie was not sent for one of them. The id shows that no other
    // session has taken its place since.
    if (cookie !== null) headers["Holdfast-Session"] = `cookie ${cookie}`.trim();
    return headers;
  }

  /**
   * Sends a request, and reads its answer whole. A connection that is silent for 30 seconds fails. While the request is sent, which `fetch` does not
   * show, there is a second more for each 4 KB of it.
   *
   * @returns `{status, body, retryAfter}`
   */
  async request({ method, path, body, session = {} }) {
    const controller = new AbortController();
    let timer;
    const live = (more = 0) => {
      this.timers.clearTimeout(timer);
      timer = this.timers.setTimeout(() => controller.abort(new DOMException("The server is silent.", "TimeoutError")), silence + more);
    };
    try {
      live(utf8Length(body ?? "") / slowest);
      const headers = this.headers(session, body === undefined ? {} : { "Content-Type": "application/json" });
      const answer = await this.fetch(new URL(path, this.server + "/"), {
        method, headers, body, signal: controller.signal, cache: "no-store",
        credentials: this.credentials(session),
      });
      const decoder = new TextDecoder("utf-8", { fatal: true });
      let text = "";
      for await (const bytes of chunks(answer.body)) {
        live();
        text += decoder.decode(bytes, { stream: true });
      }
      text += decoder.decode();
      return { status: answer.status, body: text, retryAfter: retryAfter(answer) };
    } finally {
      this.timers.clearTimeout(timer);
    }
  }

  /**
   * Opens a stream of events.
   *
   * @param onText called with each piece of it.
   * @param signal ends it.
   * @returns when it has ended, `{status, retryAfter}`.
   */
  async stream({ path, session, lastEventID, signal, onText }) {
    const headers = this.headers(session, { Accept: "text/event-stream", ...(lastEventID ? { "Last-Event-ID": lastEventID } : {}) });
    const answer = await this.fetch(new URL(path, this.server + "/"), {
      headers, signal, cache: "no-store", credentials: this.credentials(session),
    });
    if (answer.status === 200) {
      const decoder = new TextDecoder();
      for await (const bytes of chunks(answer.body)) onText(decoder.decode(bytes, { stream: true }));
    } else {
      await answer.body?.cancel();
    }
    return { status: answer.status, retryAfter: retryAfter(answer) };
  }
}

/** The pieces of a body. Not all browsers iterate over streams. */
async function* chunks(body) {
  if (!body) return;
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function retryAfter(answer) {
  const seconds = Number(answer.headers.get("Retry-After"));
  return Number.isFinite(seconds) ? seconds : 0;
}
