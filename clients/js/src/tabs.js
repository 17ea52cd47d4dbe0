// Several tabs on one store: each reads and writes, one of them syncs. Web Locks choose it, and a BroadcastChannel tells the others of commits.

import { SyncError } from "./engine.js";

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
    this.waiting = new Map();
    this.nextRequest = 1;
    this.id = crypto.randomUUID();
  }

  /** Begins: this tab syncs when no other does. */
  start() {
    this.channel.onmessage = ({ data }) => this.receive(data);
    this.store.observers.add((kind) => { if (kind !== "read") this.channel.postMessage({ type: "committed" }); });
    this.engine.onStatus((status) => { if (this.isLeader) this.channel.postMessage({ type: "status", status }); });
    this.controller = new AbortController();
    this.locks.request(this.name, { signal: this.controller.signal }, () => this.lead()).catch((error) => {
      if (error.name !== "AbortError") throw error;
    });
    this.channel.postMessage({ type: "hello" });
  }

  /** Ends: another tab may lead. */
  stop() {
    this.controller.abort();
    this.release?.();
    this.channel.close();
    this.engine.stop();
  }

  async lead() {
    this.isLeader = true;
    // A tab that can't read leads all the same: its engine tries again.
    await this.store.catchUp().catch(() => {});
    this.engine.start();
    // Who waited for the leader before waits for this tab now.
    for (const [request, waiter] of this.waiting) {
      this.waiting.delete(request);
      this.engine.sync().then(waiter.resolve, waiter.reject);
    }
    return new Promise((resolve) => { this.release = resolve; });
  }

  /** Syncs, in this tab or in the one that leads. @throws SyncError */
  sync() {
    if (this.isLeader) return this.engine.sync();
    return new Promise((resolve, reject) => {
      const request = `${this.id} ${this.nextRequest}`;
      this.nextRequest += 1;
      this.waiting.set(request, { resolve, reject });
      this.channel.postMessage({ type: "sync", request });
    });
  }

  receive(message) {
    switch (message.type) {
      case "committed":
        this.store.catchUp();
        break;
      case "status":
        if (!this.isLeader) this.engine.publish(message.status);
        break;
      case "hello":
        if (this.isLeader) this.channel.postMessage({ type: "status", status: this.engine.status });
        break;
      case "sync":
        if (this.isLeader) this.answer(message.request);
        break;
      case "synced": {
        const waiter = this.waiting.get(message.request);
        this.waiting.delete(message.request);
        if (message.error) waiter?.reject(new SyncError(message.error.code, message.error.message));
        else waiter?.resolve();
        break;
      }
      default: break;
    }
  }

  async answer(request) {
    let error;
    try {
      await this.store.catchUp();
      await this.engine.sync();
    } catch (failure) {
      error = { code: failure.code, message: failure.message };
    }
    this.channel.postMessage({ type: "synced", request, error });
  }
}
