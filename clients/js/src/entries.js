// The entries of a storage, in memory, and the transactions that change them: one after the other, also those of several tabs.

import { Draft, State } from "./state.js";

/** Calls a listener of an app. What is done is done, whatever it makes of it: what it throws is an uncaught error of the page, and stops nothing here. */
export function tell(listener, ...values) {
  try {
    listener(...values);
  } catch (error) {
    queueMicrotask(() => { throw error; });
  }
}

/** Adds a listener, and calls it. One that throws at once is not added. @returns a function that ends it. */
export function listen(listeners, listener, run) {
  listeners.add(listener);
  try {
    run();
  } catch (error) {
    listeners.delete(listener);
    throw error;
  }
  return () => listeners.delete(listener);
}

/** Entries that several tabs read and change. */
export class Entries {
  constructor(storage) {
    this.storage = storage;
    this.state = new State();
    this.queue = Promise.resolve();
    /**
     * Called with `"written"` when a transaction of an app is in the storage, with `"committed"` after any other commit, with `"read"` for one of
     * another tab, and with `"ended"` when nothing more is done.
     */
    this.observers = new Set();
    /** Why this shows what it had, and does nothing more: a StoreError; null while it goes on. */
    this.ended = null;
    storage.onClosed = (error) => this.end(error);
  }

  async load() {
    const { version, entries } = await this.storage.load();
    this.state = new State();
    this.state.apply(entries, version);
  }

  async close() {
    await this.queue;
    await this.storage.close();
  }

  /** The storage is another's, or is gone. @returns the error. */
  end(error) {
    if (this.ended) return this.ended;
    this.ended = error;
    this.noteCommit([], "ended");
    return error;
  }

  /**
   * Runs `body` on a draft, and keeps what it makes.
   *
   * @param kind what observers are told. What is `"written"` is for the user of now, and for nobody else.
   */
  transact(body, kind = "committed") {
    const { user } = new Draft(this.state).device;
    return this.inTurn(() => this.attempt(body, kind, user));
  }

  /** Takes what other tabs have committed. */
  catchUp() {
    return this.inTurn(() => this.readChanges());
  }

  inTurn(body) {
    const run = this.queue.then(body);
    this.queue = run.then(() => {}, () => {});
    return run;
  }

  async attempt(body, kind, user) {
    for (;;) {
      if (this.ended) throw this.ended;
      const draft = new Draft(this.state);
      this.mayAttempt(draft, kind, user);
      const result = body(draft);
      const changes = draft.changes();
      if (changes.length === 0) return result;
      await this.beforeCommit(changes);
      if (await this.storage.commit(this.state.version, changes)) {
        this.state.apply(changes, this.state.version + 1);
        this.noteCommit(changes, kind);
        return result;
      }
      await this.readChanges();
    }
  }

  async readChanges() {
    if (this.ended) return;
    const behind = await this.storage.changesSince(this.state.version);
    if (behind?.version === this.state.version) return;
    const { version, changes, entries } = behind ?? await this.storage.load();
    this.noteRead(changes ?? entries);
    if (this.ended) return;
    if (!behind) this.state = new State();
    this.state.apply(changes ?? entries, version);
    this.noteCommit(changes ?? null, "read");
  }

  // For what kind of entries they are.

  /** Before a transaction. It may throw. */
  mayAttempt() {}

  /** Before changes are kept. */
  beforeCommit() {}

  /** Before changes of another tab are taken. */
  noteRead() {}

  /** After a commit. @param changes null where all may be others. */
  noteCommit(changes, kind) {
    // Another one may have ended it.
    for (const observer of [...this.observers]) if (this.observers.has(observer)) tell(observer, kind);
  }
}
