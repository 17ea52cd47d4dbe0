// The stream of the server's events: performs what its machine decides. docs/PROTOCOL.md, section 6.5.

import { EventParser } from "./event-parser.js";
import { EventStreamMachine } from "./sync-machine.js";

/** Listens to the server's events for an engine. */
export class EventStream {
  constructor(engine) {
    this.engine = engine;
    this.machine = new EventStreamMachine(engine.store.environment.random);
    this.timers = engine.timers;
    /** Counts the streams: what comes of an older one does not count. */
    this.attempt = 0;
    this.lastEvent = null;
  }

  /** Opens a stream for the session of now, or ends it when there is none. */
  follow() {
    this.run(this.engine.store.account.isSignedIn ? { type: "start" } : { type: "stop" });
  }

  run(event) {
    for (const action of this.machine.handle(event)) this.perform(action);
  }

  perform(action) {
    switch (action.type) {
      case "open":
        this.open();
        break;
      case "close":
        this.controller?.abort();
        this.attempt += 1;
        break;
      case "schedule":
        this.timers.clearTimeout(this.timer);
        this.timer = this.timers.setTimeout(() => this.run({ type: "timer" }), action.after);
        break;
      case "stopTimer":
        this.timers.clearTimeout(this.timer);
        break;
      default: this.engine.run(action.event);
    }
  }

  async open() {
    const attempt = this.attempt += 1;
    const controller = this.controller = new AbortController();
    const parser = new EventParser();
    const isCurrent = () => attempt === this.attempt;
    const session = this.engine.device;
    let end = { status: 0, retryAfter: 0 };
    try {
      end = await this.engine.transport.stream({
        path: "v1/events", session, signal: controller.signal,
        lastEventID: this.lastEvent?.session === session.session ? this.lastEvent.id : undefined,
        onText: (text) => { if (isCurrent()) this.take(parser, text, session.session); },
      });
    } catch {
      // As if it had ended.
    }
    if (!isCurrent()) return;
    controller.abort();
    // The sync finds out what it means.
    if (end.status === 401) this.engine.run({ type: "pushed" });
    this.run({ type: "ended", retryAfter: end.retryAfter });
  }

  take(parser, text, session) {
    const events = parser.add(text);
    if (parser.lastEventID !== null) this.lastEvent = { session, id: parser.lastEventID };
    if (parser.retry !== null) this.machine.retryMilliseconds = parser.retry;
    if (events.length === 0) this.run({ type: "received" });
    for (const { type, data } of events) {
      if (type === "hello") {
        const { heartbeat_ms: heartbeat = 25_000, missed = true } = JSON.parse(data);
        this.run({ type: "hello", heartbeat, hasMissed: missed });
      } else this.run({ type: type === "zones" ? "moved" : type === "replaced" ? "replaced" : "received" });
    }
  }
}
