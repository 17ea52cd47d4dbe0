// The states of the sync engine and of its event stream. Pure: an event comes in, actions go out. docs/PROTOCOL.md, sections 6.2 and 6.5.

const debounce = 250;
const period = 60_000;
const attendedPeriod = { least: 600_000, most: 900_000 };
const backOff = { first: 1000, longest: 300_000, longestOffline: 60_000 };
const longestRetryAfter = 3_600_000;
const usualLimit = 500;
/** How many answers in a row may want more and bring nothing of substance. */
const barrenLimit = 20;
/** How many pushes in a row may announce nothing before the next one waits, and how long one waits at the most. */
const emptyPushLimit = 10;
const longestPushWait = 60_000;

/** The milliseconds after which the server wants to be asked again. @param retryAfter in seconds; 0 or nothing when it did not say. */
function askedWait(retryAfter = 0) {
  return Math.min(Math.max(0, retryAfter * 1000), longestRetryAfter);
}

/** Finds the change set for which the server can't take a request at all. */
class FaultSearch {
  limit = usualLimit;
  step = "halving";
  proofs = 0;
  needed = 2;
  reason = "";

  get isProbing() {
    return this.step === "probing";
  }

  /** @returns the actions; null to try again later. */
  refused({ items, isTooLarge, reason }) {
    if (items > 1) {
      this.step = "halving";
      this.limit = Math.max(1, Math.floor(Math.min(this.limit, items) / (isTooLarge ? 8 : 2)));
      return [{ type: "send", limit: this.limit }];
    }
    this.limit = 1;
    if (items !== 1) {
      this.restart();
      return null;
    }
    const isSame = reason === this.reason;
    this.reason = reason;
    if (this.step !== "confirming") return this.probe();
    this.step = "halving";
    this.proofs = isSame ? this.proofs + 1 : 0;
    if (this.proofs === this.needed) {
      [this.proofs, this.needed, this.limit] = [0, 8, usualLimit];
      return [{ type: "quarantineOldest" }, { type: "send", limit: this.limit }];
    }
    return this.proofs === 0 || this.needed > 2 ? null : this.probe();
  }

  /** Sends a request without change sets: whether the server takes that one. */
  probe() {
    this.step = "probing";
    return [{ type: "send", limit: 0 }];
  }

  probed() {
    this.step = "confirming";
  }

  accepted(items) {
    if (items > 0) [this.proofs, this.needed, this.reason] = [0, 2, ""];
    this.step = "halving";
    this.limit = usualLimit;
  }

  restart() {
    this.step = "halving";
  }
}

/**
 * The sync engine. Events are `{type, …}`, actions too:
 *
 * | event | members |
 * | --- | --- |
 * | signedIn, signedOut, launched, edited, syncNow, reachable, timer, identified, pushed, unattended | |
 * | attended | hasMissed |
 * | answered | hasMore, wait, items; isSubstantial, whether it settled something, went on with a zone or was large; hasNews, whether it brought anything at all |
 * | failed | failure: `{kind: "later", reason, retryAfter}`, `{kind: "unreachable", reason}` when no whole answer came, `{kind: "expired"}`, `{kind: "diverged"}`, `{kind: "unacceptable", items, isTooLarge, reason}` |
 *
 * Actions: `send` (limit), `quarantineOldest`, `identify`, `schedule` (after), `stopTimer`, `finish` (failure or null).
 */
export class SyncMachine {
  /** @param random a number from 0 up to, but not including, 1. */
  constructor(isSignedIn, random) {
    this.state = isSignedIn ? "idle" : "signedOut";
    this.random = random;
    this.goOn = false;
    this.isAttended = false;
    /** What the timer waits for: `"edit"`, `"push"`, or null where nothing asked for it. */
    this.timerOf = null;
    this.failures = 0;
    /** Whether the server itself has said when to come back: that the network is there says nothing about that. */
    this.isPutOff = false;
    /** The answers in a row, without coming to rest, that wanted more and were not substantial. */
    this.barren = 0;
    /** The pushes in a row whose sync brought nothing at all. */
    this.emptyPushes = 0;
    /** Of the sync that runs: whether a push asked for it, and whether it has brought anything. */
    [this.isPushed, this.hasNews] = [false, false];
    /** Whether a push came while it ran. */
    this.isPushedAgain = false;
    this.isIdentified = false;
    this.search = new FaultSearch();
  }

  handle(event) {
    const { state } = this;
    const { type } = event;
    if (type === "signedOut") {
      this.state = "signedOut";
      return [{ type: "stopTimer" }, { type: "finish", failure: { kind: "expired" } }];
    }
    if (type === "attended") return this.attend(event.hasMissed);
    if (type === "unattended") {
      this.isAttended = false;
      return state === "idle" && this.timerOf === null ? [this.schedule(this.random() * period)] : [];
    }
    if (state === "syncing") return this.handleSyncing(event);
    if (type === "signedIn") {
      this.state = "idle";
      this.timerOf = null;
      return [this.schedule(0)];
    }
    if (state === "signedOut") return type === "syncNow" ? [{ type: "finish", failure: { kind: "expired" } }] : [];
    if (type === "edited") {
      if (state === "waiting" || this.timerOf === "edit") return [];
      this.timerOf = "edit";
      return [this.schedule(debounce)];
    }
    if (type === "pushed") return state === "idle" ? this.push() : [];
    if (type === "reachable" && state === "waiting") {
      if (this.isPutOff) return [];
      this.failures = 0;
    }
    return ["launched", "syncNow", "reachable", "timer"].includes(type) ? this.begin() : [];
  }

  handleSyncing(event) {
    switch (event.type) {
      case "signedIn": case "edited": case "syncNow": case "launched": case "reachable":
        this.goOn = true;
        return [];
      case "pushed":
        this.isPushedAgain = true;
        return [];
      case "answered":
        if (this.search.isProbing) {
          this.search.probed();
          return [{ type: "send", limit: this.search.limit }];
        }
        return this.take(event);
      case "identified":
        this.isIdentified = true;
        return this.begin();
      case "failed": return this.fail(event.failure);
      default: return [];
    }
  }

  begin() {
    this.state = "syncing";
    this.goOn = false;
    this.isPushedAgain = false;
    this.timerOf = null;
    this.search.restart();
    return [{ type: "stopTimer" }, { type: "send", limit: this.search.limit }];
  }

  take({ hasMore, wait, items, isSubstantial = false, hasNews = false }) {
    this.isIdentified = false;
    this.search.accepted(items);
    this.hasNews ||= hasNews;
    if (isSubstantial) [this.failures, this.barren] = [0, 0];
    if (!hasMore && !this.goOn) return this.rest(wait);
    if (!isSubstantial) this.barren += 1;
    return this.barren > barrenLimit ? this.fail({ kind: "later", reason: "The server's answers bring nothing new." }) : this.begin();
  }

  rest(wait) {
    this.state = "idle";
    [this.failures, this.barren] = [0, 0];
    if (this.hasNews) this.emptyPushes = 0;
    else if (this.isPushed) this.emptyPushes += 1;
    [this.isPushed, this.hasNews] = [false, false];
    const pause = this.pause();
    const rest = [this.schedule(Math.min(wait ?? pause, pause)), { type: "finish", failure: null }];
    if (!this.isPushedAgain) return rest;
    const next = this.push();
    return this.state === "syncing" ? next : [...next, rest[1]];
  }

  /** The server says that there is something: asks at once, unless it has said so for nothing too often. */
  push() {
    this.isPushed = true;
    const { emptyPushes } = this;
    if (emptyPushes < emptyPushLimit) return this.begin();
    if (this.timerOf !== null) return [];
    this.timerOf = "push";
    return [this.schedule(this.random() * Math.min(longestPushWait, 1000 * 2 ** (emptyPushes - emptyPushLimit)))];
  }

  attend(hasMissed) {
    this.isAttended = true;
    switch (this.state) {
      case "signedOut": return [];
      case "syncing":
        this.goOn = this.goOn || hasMissed;
        return [];
      case "waiting": return this.begin();
      default: return hasMissed ? this.begin() : this.timerOf !== null ? [] : [this.schedule(this.pause())];
    }
  }

  pause() {
    const { least, most } = attendedPeriod;
    return this.isAttended ? least + this.random() * (most - least) : period;
  }

  schedule(after) {
    return { type: "schedule", after: Math.round(after) };
  }

  fail(failure) {
    switch (failure.kind) {
      case "expired":
        this.state = "signedOut";
        return [{ type: "stopTimer" }, { type: "finish", failure }];
      case "diverged":
        if (!this.isIdentified) return [{ type: "identify" }];
        this.isIdentified = false;
        return this.fail({ kind: "later", reason: "The server does not know this device's new identity." });
      case "unacceptable":
        return this.search.refused(failure) ?? this.fail({ kind: "later", reason: failure.reason });
      default: {
        this.state = "waiting";
        const longest = failure.kind === "unreachable" ? backOff.longestOffline : backOff.longest;
        const bound = Math.min(longest, backOff.first * 2 ** Math.min(this.failures, 16));
        this.failures += 1;
        const asked = askedWait(failure.retryAfter);
        this.isPutOff = asked > 0;
        return [this.schedule(Math.max(this.random() * bound, asked)), { type: "finish", failure }];
      }
    }
  }
}

const openLimit = 30_000;
const retry = { usual: 2000, longest: 300_000 };

/**
 * The event stream. Events: `start`, `stop`, `reachable`, `hello` (heartbeat, hasMissed), `moved`, `received`, `ended` (retryAfter), `replaced`, `timer`.
 * Actions: `open`, `close`, `schedule` (after), `stopTimer`, `tell` (event of the sync engine).
 */
export class EventStreamMachine {
  constructor(random) {
    this.state = "closed";
    this.random = random;
    this.retryMilliseconds = null;
    this.silence = openLimit;
    this.failures = 0;
    /** Whether the server itself has said when to come back. */
    this.isPutOff = false;
  }

  handle(event) {
    const { state } = this;
    const { type } = event;
    if (type === "stop" && state !== "closed") return this.stop();
    if (state === "closed") return type === "start" ? this.begin() : [];
    if (type === "start") return [{ type: "close" }, ...this.begin()];
    if (state === "waiting") return (type === "reachable" && !this.isPutOff) || type === "timer" ? this.begin() : [];
    switch (type) {
      case "hello": return this.hello(event);
      case "moved": return state === "open" ? [this.schedule(this.silence), this.tell({ type: "pushed" })] : [];
      case "received":
        if (state !== "open") return [];
        this.failures = 0;
        return [this.schedule(this.silence)];
      case "timer": return [{ type: "close" }, ...this.lose()];
      case "replaced":
        this.failures = 16;
        return [{ type: "close" }, ...this.lose(retry.longest / 2000)];
      case "ended": return this.lose(event.retryAfter);
      default: return [];
    }
  }

  hello({ heartbeat, hasMissed }) {
    if (this.state === "open") return [this.schedule(this.silence)];
    this.state = "open";
    this.silence = 2 * Math.min(Math.max(heartbeat, 50), 600_000);
    return [this.schedule(this.silence), this.tell({ type: "attended", hasMissed })];
  }

  begin() {
    this.state = "opening";
    this.silence = openLimit;
    return [{ type: "open" }, this.schedule(this.silence)];
  }

  stop() {
    const wasOpen = this.state === "open";
    this.state = "closed";
    this.failures = 0;
    return [{ type: "stopTimer" }, { type: "close" }, ...(wasOpen ? [this.tell({ type: "unattended" })] : [])];
  }

  lose(retryAfter) {
    const wasOpen = this.state === "open";
    this.state = "waiting";
    const first = Math.min(Math.max(this.retryMilliseconds ?? retry.usual, 1000), retry.longest);
    const bound = Math.min(retry.longest, first * 2 ** Math.min(this.failures, 16));
    this.failures += 1;
    const asked = askedWait(retryAfter);
    this.isPutOff = asked > 0;
    return [this.schedule(Math.max(this.random() * bound, asked)), ...(wasOpen ? [this.tell({ type: "unattended" })] : [])];
  }

  schedule(after) {
    return { type: "schedule", after: Math.round(after) };
  }

  tell(event) {
    return { type: "tell", event };
  }
}
