// Several tabs on one store: each reads and writes, one of them syncs. Web Locks choose it, and a BroadcastChannel tells the others of commits.

import { SyncError } from "./transport.js";

/** How long the tab that leads may take to give a sign of life. */
const silenceLimit = 10_000;
const silence = "The tab that syncs gives no answer: it may be suspended. Show it or close it.";

/** Binds a store and its engine to the other tabs of this origin that have the same store open. */
export class Tabs {
  /**
   * @param name the store's name.
   * @param browser `{locks, BroadcastChannel}`, the browser's own unless given.
   */
  constructor(name, store, engine, browser = { locks: navigator.locks, BroadcastChannel }) {
    this.store = store;
    this.engine = engine;
    this.locks = browser.locks;
    this.name = `holdfast ${name}`;
    this.channel = new browser.BroadcastChannel(this.name);
    this.isLeader = false;
    this.isStopped = false;
    this.timer = null;
    this.waiting = new Map();
    this.nextRequest = 1;
    this.id = crypto.randomUUID();
  }

  /** Begins: this tab syncs when no other does. */
  start() {
    this.channel.onmessage = ({ data }) => this.receive(data);
    this.store.observers.add((kind) => {
      // Another tab is to lead.
      if (kind === "ended") this.stop();
      else if (kind !== "read") this.post({ type: "committed" });
      if (kind === "written") this.expectAnswer();
    });
    this.engine.onStatus((status) => { if (this.isLeader) this.post({ type: "status", status }); });
    this.controller = new AbortController();
    this.locks.request(this.name, { signal: this.controller.signal }, () => this.lead()).catch((error) => {
      if (error.name !== "AbortError") throw error;
    });
    this.expectAnswer();
  }

  /** Ends: another tab may lead. */
  stop() {
    if (this.isStopped) return;
    this.isStopped = true;
    this.engine.timers.clearTimeout(this.timer);
    this.controller.abort();
    this.release?.();
    this.channel.close();
    this.engine.stop();
    this.rejectWaiting("This tab no longer syncs.");
  }

  rejectWaiting(reason) {
    for (const { reject } of this.waiting.values()) reject(new SyncError("offline", reason));
    this.waiting.clear();
  }

  /** Asks the tab that leads for its status. While that says nothing, edits wait and nothing is received. */
  expectAnswer() {
    if (this.isLeader || this.isStopped || this.timer !== null) return;
    this.timer = this.engine.timers.setTimeout(() => {
      this.timer = null;
      this.engine.publish({ state: "offline", reason: silence });
      this.rejectWaiting(silence);
    }, silenceLimit);
    this.post({ type: "hello" });
  }

  noteAnswer() {
    this.engine.timers.clearTimeout(this.timer);
    this.timer = null;
  }

  async lead() {
    this.isLeader = true;
    this.noteAnswer();
    // A tab that can't read leads all the same: its engine tries again.
    await this.store.catchUp().catch(() => {});
    if (this.isStopped || this.store.ended) return undefined;
    this.engine.start();
    // Who waited for the leader before waits for this tab now.
    for (const [request, waiter] of this.waiting) {
      this.waiting.delete(request);
      this.engine.sync().then(waiter.resolve, waiter.reject);
    }
    this.post({ type: "leads" });
    return new Promise((resolve) => { this.release = resolve; });
  }

  /** Syncs, in this tab or in the one that leads. @throws SyncError */
  sync() {
    if (this.isLeader || this.isStopped) return this.engine.sync();
    return new Promise((resolve, reject) => {
      const request = `${this.id} ${this.nextRequest}`;
      this.nextRequest += 1;
      this.waiting.set(request, { resolve, reject });
      this.post({ type: "sync", request });
      this.expectAnswer();
    });
  }

  post(message) {
    if (!this.isStopped && !this.store.ended) this.channel.postMessage(message);
  }

  receive(message) {
    switch (message.type) {
      case "committed":
        this.store.catchUp();
        break;
      case "status":
        this.noteAnswer();
        if (!this.isLeader) this.engine.publish(message.status);
        break;
      case "hello":
        // The new tab may be one of another version of the app.
        this.store.catchUp();
        if (this.isLeader) this.post({ type: "status", status: this.engine.status });
        break;
      case "leads":
        this.noteAnswer();
        // The tab that led before has ended with its requests.
        for (const request of this.waiting.keys()) this.post({ type: "sync", request });
        break;
      case "sync":
        if (this.isLeader) this.answer(message.request);
        break;
      case "synced":
        this.endWaiting(message);
        break;
      default: break;
    }
  }

  /** The tab that leads has synced: who waits for it is to see what that has brought. */
  async endWaiting({ request, error }) {
    const waiter = this.waiting.get(request);
    this.waiting.delete(request);
    if (!waiter) return;
    // A tab that can't read shows what it had.
    await this.store.catchUp().catch(() => {});
    if (error) waiter.reject(new SyncError(error.code, error.message));
    else waiter.resolve();
  }

  async answer(request) {
    let error;
    try {
      await this.store.catchUp();
      await this.engine.sync();
    } catch (failure) {
      error = { code: failure.code ?? "offline", message: failure.message };
    }
    this.post({ type: "synced", request, error });
  }
}
