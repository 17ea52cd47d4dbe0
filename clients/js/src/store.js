// A device's store: local reads and writes, live queries, the quarantine. What a write returned for is in the storage.

import { Entries, listen, tell } from "./entries.js";
import { checkUnsent, erase, waiting } from "./erasing.js";
import { Histories } from "./history.js";
import { operationsOf, Quarantine } from "./quarantine.js";
import { Reader } from "./reading.js";
import { Resending } from "./resending.js";
import { Schema } from "./schema.js";
import { changeSchema } from "./schema-change.js";
import { carriedKey, Draft } from "./state.js";
import { left, replaced, signedOut, StoreError } from "./store-error.js";
import { Transaction } from "./transaction.js";
import { forgetRedo, lastOf, remember, reverse } from "./undo.js";
import { WriteError } from "./write-error.js";
import { hasZone, isWhole, newZones, Zones } from "./zones.js";

/** The clock and the randomness of the system. */
export const systemEnvironment = {
  now: () => Date.now(),
  random: () => crypto.getRandomValues(new Uint32Array(1))[0] / 2 ** 32,
  random64: () => crypto.getRandomValues(new BigUint64Array(1))[0],
};

/** What there is to undo after a write. */
function noteWrite(draft, changes, at) {
  if (changes.length > 0) forgetRedo(draft);
  remember(draft, changes, at);
}

/** A device's store. Open one with `Store.open`. */
export class Store extends Entries {
  constructor(storage, schema, environment) {
    super(storage);
    this.schema = schema;
    this.environment = environment;
    this.listeners = new Set();
    this.isSettled = false;
    /** Is told which zones a commit brings, before it: see StoreFolder. */
    this.noteZones = null;
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
    return this.writeAs(body, (draft, changes) => noteWrite(draft, changes, this.environment.now()));
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

  /** @param last the key of the transaction that it must be; undefined for any. @returns undefined when it is another one. */
  async reverse(kind, opposite, last) {
    const note = (draft, changes) => remember(draft, changes, this.environment.now(), opposite);
    for (let forbidden = new Set(); ;) {
      try {
        const keys = forbidden;
        return await this.writeAs((transaction) => {
          if (last !== undefined && lastOf(transaction.draft, kind)?.key !== last) return undefined;
          return reverse(transaction, kind, keys);
        }, note);
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
    return { undo: lastOf(draft, "undo") !== undefined, redo: lastOf(draft, "redo") !== undefined };
  }

  // The quarantine.

  /** Refused change sets, oldest first: `{number, at, problem, operations, operation, because}`. */
  quarantined() {
    const quarantine = new Quarantine(new Draft(this.state), this.schema);
    return quarantine.all().map(({ body, isDeletedBehind: _, zones: __, origin: ___, ...set }) => ({
      ...set, operations: operationsOf(body, this.schema).map((operation) => quarantine.shown(operation)),
    }));
  }

  /** How many change sets are in quarantine. */
  get quarantineSize() {
    return this.state.store("quarantine").size;
  }

  /** Writes a refused change set and its dependents again. @param amend may change the columns of the set's operations. */
  resend(number, amend) {
    const resend = (draft) => new Resending(draft, this.schema, this.environment).resend(number, amend, (changes) => noteWrite(draft, changes, this.environment.now()));
    return this.transact(resend, "written");
  }

  /**
   * The change sets in quarantine whose zone has moved, each with those that are there because of it: docs/MOVING.md. `zones` are all those of its records,
   * and `isHere` says whether one of them is here.
   */
  movedSets() {
    const draft = new Draft(this.state);
    const sets = new Quarantine(draft, this.schema).all();
    return sets.filter(({ problem, because }) => because === null && problem.code === "zone-moved" && problem.zone).map(({ number, problem, origin, zones = [problem.zone] }) => ({
      number, origin, zones, isHere: zones.some((zone) => hasZone(draft, this.schema, zone)),
      sets: sets.filter((set) => set.number === number || set.because === number).map(({ body, origin }) => ({ body, origin })),
    }));
  }

  /** Whether such a set was written here. */
  hasTaken({ origin }) {
    return new Draft(this.state).get("local", carriedKey(origin)) === true;
  }

  /** Writes such a set here, unless that was done. The note of it is in the same commit. @returns false while one of its zones is not whole here. */
  takeMoved({ origin, zones, sets }) {
    return this.transact((draft) => {
      if (draft.get("local", carriedKey(origin))) return true;
      if (!zones.every((zone) => isWhole(draft.get("zones", zone)))) return false;
      new Resending(draft, this.schema, this.environment).take(sets, (changes) => noteWrite(draft, changes, this.environment.now()));
      for (const { origin } of sets) if (origin) draft.put("local", carriedKey(origin), true);
      return true;
    }, "written");
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
      if (!force) checkUnsent(draft, this.schema);
      erase(draft);
    });
  }

  /** The zones that are here: `{zone, role, isWhole}`. */
  zones() {
    return new Zones(new Draft(this.state), this.schema).all().filter(([, state]) => state.ack !== null)
      .map(([zone, state]) => ({ zone, role: state.role, isWhole: isWhole(state) }));
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

  noteCommit(changes, kind) {
    super.noteCommit(changes, kind);
    const tables = changes && new Set(changes.map(([store]) => store).filter((store) => store.startsWith("records/")).map((store) => store.slice(8)));
    for (const listener of [...this.listeners]) {
      if (!this.listeners.has(listener)) continue;
      if (tables && listener.tables && ![...listener.tables].some((table) => tables.has(table))) continue;
      tell(listener.run);
    }
  }

  mayAttempt(draft, kind, user) {
    if (draft.device.left) throw this.end(left());
    if (kind === "written" && user && draft.device.user !== user) throw signedOut();
  }

  /** Ends when another version of the app has taken the storage over, whose tables this one does not know, or another tab has removed all of it. */
  noteRead(changes) {
    const device = changes.find(([store, key]) => store === "local" && key === "device")?.[2];
    if (device?.left) this.end(left());
    else if (this.isSettled && device && device.ownSchema !== this.schema.fingerprint) this.end(replaced());
  }

  /** Before new zones come into the storage, a folder notes them. */
  beforeCommit(changes) {
    return this.noteZones && this.noteZones(newZones(changes, new Draft(this.state), this.schema));
  }
}
