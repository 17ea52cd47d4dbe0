// A device's store: local reads and writes, live queries, the quarantine. What a write returned for is in the storage.

import { Histories } from "./history.js";
import { operationsOf, Quarantine } from "./quarantine.js";
import { Reader } from "./reading.js";
import { Resending } from "./resending.js";
import { Schema } from "./schema.js";
import { changeSchema } from "./schema-change.js";
import { Draft, newDevice, State } from "./state.js";
import { replaced, signedOut, StoreError } from "./store-error.js";
import { Transaction } from "./transaction.js";
import { canUndo, forgetRedo, remember, reverse } from "./undo.js";
import { WriteError } from "./write-error.js";
import { Zones } from "./zones.js";

/** The clock and the randomness of the system. */
export const systemEnvironment = {
  now: () => Date.now(),
  random: () => crypto.getRandomValues(new Uint32Array(1))[0] / 2 ** 32,
  random64: () => crypto.getRandomValues(new BigUint64Array(1))[0],
};

/** How many operations wait to be confirmed. */
function waiting(draft) {
  return draft.sorted("outbox").reduce((sum, set) => sum + set.last - set.first + 1, 0);
}

/** What there is to undo after a write. */
function noteWrite(draft, changes) {
  if (changes.length > 0) forgetRedo(draft);
  remember(draft, changes);
}

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

/** A device's store. Open one with `Store.open`. */
export class Store {
  constructor(storage, schema, environment) {
    this.storage = storage;
    this.schema = schema;
    this.environment = environment;
    this.state = new State();
    this.queue = Promise.resolve();
    this.listeners = new Set();
    /**
     * Called with `"written"` when a transaction of an app is in the storage, with `"committed"` after any other commit, with `"read"` for one of
     * another tab, and with `"ended"` when the store does nothing more.
     */
    this.observers = new Set();
    this.isSettled = false;
    /** Why this store shows what it had, and does nothing more: a StoreError; null while it goes on. */
    this.ended = null;
    storage.onClosed = (error) => this.end(error);
  }

  /**
   * Opens a store.
   *
   * @param storage see MemoryStorage and IndexedDBStorage.
   * @param schema the content of holdfast.json: a text, an object or a Schema.
   * @param environment `{now(), random(), random64()}`
   */
  static async open({ storage, schema, environment = systemEnvironment }) {
    const store = new Store(storage, schema instanceof Schema ? schema : new Schema(schema), environment);
    await storage.open();
    await store.load();
    await store.settleSchema();
    return store;
  }

  async close() {
    await this.queue;
    await this.storage.close();
  }

  async load() {
    const { version, entries } = await this.storage.load();
    this.state = new State();
    this.state.apply(entries, version);
  }

  /**
   * Takes the storage over for this version of the app, and brings what is in it to its schema. Columns that are new come with the zones' next copies.
   *
   * @throws StoreError `database-is-newer`
   */
  async settleSchema() {
    await this.transact((draft) => {
      new Zones(draft, this.schema).mend();
      const { device } = draft;
      // Stores of earlier clients have no version: they may lack columns, and have entries with former names.
      if (device.ownSchema === this.schema.fingerprint && device.ownVersion === this.schema.version) return;
      if (device.ownVersion > this.schema.version) {
        throw new StoreError("database-is-newer", `The database has version ${device.ownVersion} of the schema, and this app has ${this.schema.version}. Update the app.`);
      }
      if (changeSchema(draft, this.schema)) new Zones(draft, this.schema).fill();
      draft.device = { ...draft.device, ownSchema: this.schema.fingerprint, ownVersion: this.schema.version };
    });
    this.isSettled = true;
  }

  /** Ends when another version of the app has taken the storage over, whose tables this one does not know. */
  checkSchema(device) {
    if (this.isSettled && device && device.ownSchema !== this.schema.fingerprint) this.end(replaced());
  }

  /** The storage is another's, or is gone. */
  end(error) {
    if (this.ended) return;
    this.ended = error;
    this.notify([], "ended");
  }

  // Reading.

  reader() {
    return new Reader(new Draft(this.state), this.schema);
  }

  /** A record, or undefined. */
  get(table, id) {
    return this.reader().get(table, id);
  }

  /** Records of a table: see `Reader.all`. */
  all(table, options) {
    return this.reader().all(table, options);
  }

  /**
   * Calls `listener` with what `read` gives, now and whenever it may have changed.
   *
   * @param tables the tables that `read` looks at; all unless given.
   * @returns a function that ends it.
   */
  live(read, listener, { tables } = {}) {
    const entry = { tables: tables && new Set(tables), run: () => listener(read(this.reader())) };
    return listen(this.listeners, entry, entry.run);
  }

  // Writing.

  /**
   * Runs a transaction: all of it is kept, or nothing. It becomes one change set.
   *
   * @param body given a Transaction; not async. It runs again when another tab wrote at the same moment.
   * @returns what `body` gives, when it is durably stored.
   */
  write(body) {
    return this.writeAs(body, noteWrite);
  }

  async writeAs(body, note) {
    const result = await this.transact((draft) => {
      const transaction = new Transaction(draft, this.schema, this.environment);
      const result = body(transaction);
      if (typeof result?.then === "function") throw new TypeError("The function of write() must not be async.");
      note(draft, transaction.end());
      return result;
    }, "written");
    return result;
  }

  /** Reverses the last transaction of this device: see docs/UNDO.md. @returns `{changed, kept}`, or null when there is none. */
  undo() {
    return this.reverse("undo", "redo");
  }

  /** Reverses the last `undo`. */
  redo() {
    return this.reverse("redo", "undo");
  }

  async reverse(kind, opposite) {
    for (let forbidden = new Set(); ;) {
      try {
        const keys = forbidden;
        return await this.writeAs((transaction) => reverse(transaction, kind, keys), (draft, changes) => remember(draft, changes, opposite));
      } catch (error) {
        if (!(error instanceof WriteError)) throw error;
        // Another record has a unique value by now. What is against another rule, such as the size of a change set, would be so each time.
        if (error.written && !forbidden.has(error.written)) forbidden.add(error.written);
        else forbidden = null;
      }
    }
  }

  /** Whether there is something to undo and to redo. */
  get undoable() {
    const draft = new Draft(this.state);
    return { undo: canUndo(draft, "undo"), redo: canUndo(draft, "redo") };
  }

  // The quarantine.

  /** Refused change sets, oldest first: `{number, at, problem, operations, operation, because}`. */
  quarantined() {
    const quarantine = new Quarantine(new Draft(this.state), this.schema);
    return quarantine.all().map(({ body, isDeletedBehind: _, ...set }) => ({
      ...set, operations: operationsOf(body, this.schema).map((operation) => quarantine.shown(operation)),
    }));
  }

  /** Writes a refused change set and its dependents again. @param amend may change the columns of the set's operations. */
  resend(number, amend) {
    const resend = (draft) => new Resending(draft, this.schema, this.environment).resend(number, amend, (changes) => noteWrite(draft, changes));
    return this.transact(resend, "written");
  }

  /** Deletes a refused change set and its dependents for good. */
  discard(number) {
    return this.transact((draft) => { new Quarantine(draft, this.schema).take(number); }, "written");
  }

  // The device.

  /** Who is signed in: `{user, name, device, isSignedIn}`. */
  get account() {
    const { user, userName: name, device, token, cookie } = new Draft(this.state).device;
    return { user, name, device, isSignedIn: Boolean(device && (token || cookie)) };
  }

  /** How many operations wait to be confirmed. */
  get waitingOperations() {
    return waiting(new Draft(this.state));
  }

  /**
   * Removes all that the device keeps, as one commit: what another tab writes meanwhile counts.
   *
   * @throws RangeError when edits would be lost, or what a restored server lacks, unless `force`.
   */
  erase({ force = false } = {}) {
    return this.transact((draft) => {
      const unsent = waiting(draft) + draft.sorted("quarantine").length + draft.sorted("recovered").length;
      if (unsent > 0 && !force) throw new RangeError(`${unsent} edits are not on the server. Sync first, or use force to lose them.`);
      const zones = new Zones(draft, this.schema);
      const lacking = zones.all().filter(([zone, { resync }]) => zones.isAhead(zone) || resync === "verified").length;
      if (lacking > 0 && !force) throw new RangeError(`The server was restored, and may lack what this device has of ${lacking} zones. Sync first, or use force to lose it.`);
      const { ownSchema, ownVersion } = draft.device;
      const columns = draft.get("local", "columns");
      for (const name of draft.storeNames()) for (const [key] of [...draft.entries(name)]) draft.delete(name, key);
      draft.put("local", "columns", columns);
      draft.device = { ...newDevice, ownSchema, ownVersion };
    });
  }

  /** The zones that are here: `{zone, role, isWhole}`. */
  zones() {
    return new Zones(new Draft(this.state), this.schema).all().filter(([, state]) => state.ack !== null)
      .map(([zone, { role, token, ack }]) => ({ zone, role, isWhole: token !== "" && token === ack }));
  }

  /** Begins to follow a public zone, or ends it. */
  async follow(zone, isFollowed = true) {
    if (!this.schema.publicZones.has(zone)) throw new WriteError("record-unknown", `The schema has no public zone ${String(zone)}.`);
    return this.transact((draft) => {
      const zones = new Zones(draft, this.schema);
      if (isFollowed) return zones.follow(zone);
      zones.lose(zone);
      new Histories(draft, this.schema).settle();
    }, "written");
  }

  // Transactions.

  /**
   * Runs `body` on a draft, and keeps what it makes.
   *
   * @param kind what observers are told. What is `"written"` is for the user of now, and for nobody else.
   */
  transact(body, kind = "committed") {
    const { user } = new Draft(this.state).device;
    const run = this.queue.then(() => this.attempt(body, kind, user));
    this.queue = run.then(() => {}, () => {});
    return run;
  }

  async attempt(body, kind, user) {
    for (;;) {
      if (this.ended) throw this.ended;
      const draft = new Draft(this.state);
      if (kind === "written" && user && draft.device.user !== user) throw signedOut();
      const result = body(draft);
      const changes = draft.changes();
      if (changes.length === 0) return result;
      if (await this.storage.commit(this.state.version, changes)) {
        this.state.apply(changes, this.state.version + 1);
        this.notify(changes, kind);
        return result;
      }
      await this.readChanges();
    }
  }

  /** Takes what other tabs have committed. */
  catchUp() {
    const run = this.queue.then(() => this.readChanges());
    this.queue = run.then(() => {}, () => {});
    return run;
  }

  async readChanges() {
    if (this.ended) return;
    const behind = await this.storage.changesSince(this.state.version);
    if (behind?.version === this.state.version) return;
    const { version, changes, entries } = behind ?? await this.storage.load();
    this.checkSchema((changes ?? entries).find(([store, key]) => store === "local" && key === "device")?.[2]);
    if (this.ended) return;
    if (!behind) this.state = new State();
    this.state.apply(changes ?? entries, version);
    this.notify(changes ?? null, "read");
  }

  notify(changes, kind) {
    // Another one may have ended it.
    for (const observer of [...this.observers]) if (this.observers.has(observer)) tell(observer, kind);
    const tables = changes && new Set(changes.map(([store]) => store).filter((store) => store.startsWith("records/")).map((store) => store.slice(8)));
    for (const listener of [...this.listeners]) {
      if (!this.listeners.has(listener)) continue;
      if (tables && listener.tables && ![...listener.tables].some((table) => tables.has(table))) continue;
      tell(listener.run);
    }
  }
}
