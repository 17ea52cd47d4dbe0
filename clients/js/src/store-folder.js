// Several databases on one device, each with its own servers, account and storage, read as one. docs/WEB.md, section 4; docs/FOLDERS.md.

import { listen } from "./entries.js";
import { FolderList, home } from "./folder-list.js";
import { draftOf, FolderStores } from "./folder-stores.js";
import { Reader } from "./reading.js";
import { Schema } from "./schema.js";
import { StoreError } from "./store-error.js";
import { Store, systemEnvironment } from "./store.js";
import { lastOf } from "./undo.js";
import { hasZone } from "./zones.js";

/** The records of several drafts, for a reader. */
class Union {
  constructor(drafts) {
    this.drafts = drafts;
  }

  record(table, id) {
    return this.with(table, id)?.record(table, id);
  }

  * records(table) {
    for (const draft of this.drafts) yield* draft.records(table);
  }

  dirty(table, id) {
    return this.with(table, id)?.dirty(table, id);
  }

  with(table, id) {
    return this.drafts.find((draft) => draft.record(table, id) !== undefined);
  }
}

/** The databases of a device, read as one. Open one with `StoreFolder.open`. */
export class StoreFolder extends FolderStores {
  undoing = Promise.resolve();

  /**
   * Opens a folder, and goes on with what is marked in its list.
   *
   * @param storage gives the storage of a name: `home`, `folder` for the list, and others for other databases.
   * @param schema the content of holdfast.json, which all databases have.
   * @throws StoreError when home or the list can't be opened. `databases` says so of others.
   */
  static async open({ storage, schema: content, environment = systemEnvironment }) {
    const schema = content instanceof Schema ? content : new Schema(content);
    const store = await Store.open({ storage: storage(home), schema, environment });
    let list;
    try {
      list = await FolderList.open(storage("folder"));
      const folder = new StoreFolder(list, store, { storage, schema, environment });
      await folder.follow();
      return folder;
    } catch (error) {
      await store.close();
      await list?.close();
      throw error;
    }
  }

  // Reading.

  /** Reads the records of all databases as they are at one moment. */
  reader() {
    return new Reader(new Union(this.stores().map(([, store]) => draftOf(store))), this.schema);
  }

  /** A record, or undefined. Where several databases have one of this id, that of the first. */
  get(table, id) {
    return this.reader().get(table, id);
  }

  /** Records of a table: see `Reader.all`. */
  all(table, options) {
    return this.reader().all(table, options);
  }

  /** Calls `listener` with what `read` gives, now and whenever it may have changed in any database. @returns a function that ends it. */
  live(read, listener, { tables } = {}) {
    const entry = { tables: tables && new Set(tables), run: () => listener(read(this.reader())) };
    const end = listen(this.listeners, entry, entry.run);
    const each = (body) => { for (const [, store] of this.stores()) body(store.listeners); };
    each((listeners) => listeners.add(entry));
    return () => {
      each((listeners) => listeners.delete(entry));
      return end();
    };
  }

  /** The zones of all databases: `{database, zone, role, isWhole}`. */
  zones() {
    return this.stores().flatMap(([database, store]) => store.zones().map((zone) => ({ database, ...zone })));
  }

  /** How many operations of all databases are not confirmed. */
  get waitingOperations() {
    return this.stores().reduce((sum, [, store]) => sum + store.waitingOperations, 0);
  }

  // Finding the database of something.

  /** Where something is: `{having, unread}`, with names. */
  async places(has) {
    await this.follow();
    if (this.list.ended) throw this.list.ended;
    const [having, unread] = [[], []];
    await Promise.all(this.databases.map(({ name }) => this.upToDate(name).catch(() => unread.push(name))));
    for (const { name } of this.databases) if (!unread.includes(name) && has(draftOf(this.store(name)))) having.push(name);
    return { having, unread };
  }

  /** The databases that have a zone, by name. Of a zone that exists in two, each has its own records. */
  async databasesWith(zone) {
    return (await this.placesOf(zone)).having;
  }

  async placesOf(zone) {
    // What was written before somebody has signed in has no zone.
    if (typeof zone !== "string") throw new TypeError(`${zone} is no zone. Write to a store: home or store(name).`);
    return this.places((draft) => hasZone(draft, this.schema, zone));
  }

  /** The one database that has a zone; undefined when none has. @throws StoreError `zone-ambiguous`, `cannot-open` */
  async databaseWith(zone) {
    return this.one(await this.placesOf(zone), `zone ${zone}`, zone);
  }

  /** What can't be read now may have it, too, unless the list says that the zone is not there: the only one that is found may be a stranger's then. */
  one({ having, unread }, what, zone) {
    const missing = unread.find((name) => name === home || this.list.mayHave(name, zone));
    if (missing) {
      throw new StoreError("cannot-open", `The ${what} may be in the database ${missing}, which can't be read now; see databases. Nothing was written. Call reload(), or choose one: store(name).`);
    }
    if (having.length > 1) throw new StoreError("zone-ambiguous", `The databases ${having.join(", ")} each have a ${what}. Nothing was written. Choose one: store(name).`);
    return having[0];
  }

  // Writing.

  /**
   * Runs a transaction in the database that has a zone, or at home if none has it; without a zone, at home.
   *
   * @throws as `Store.write`; StoreError `zone-ambiguous` when several have it, `cannot-open` when one that may have it can't be read now.
   */
  async write(zone, body) {
    if (body === undefined) return this.home.write(zone);
    return this.store(await this.databaseWith(zone) ?? home).write(body);
  }

  /** Closes a conflict in the database that has it: see `Transaction.resolve`. */
  async resolve(conflict, choice) {
    const places = await this.places((draft) => draft.record("conflicts", conflict) !== undefined);
    const zone = places.having.length > 0 ? draftOf(this.store(places.having[0])).record("conflicts", conflict).zone : null;
    return this.store(this.one(places, `conflict ${conflict}`, zone) ?? home).write((db) => db.resolve(conflict, choice));
  }

  /** Reverses the last transaction of this device, in whichever database it is. @returns as `Store.undo`. */
  undo() {
    const run = this.undoing.then(() => this.undoLast());
    this.undoing = run.then(() => {}, () => {});
    return run;
  }

  async undoLast() {
    for (;;) {
      let last;
      for (const [, store] of this.usable()) {
        await store.catchUp();
        const found = lastOf(draftOf(store), "undo");
        if (found && !store.ended && found.at >= (last?.at ?? 0)) last = { store, ...found };
      }
      if (!last) return null;
      const result = await last.store.reverse("undo", "redo", last.key);
      if (result !== undefined) return result;
    }
  }

  /** Whether there is something to undo. */
  get undoable() {
    return { undo: this.usable().some(([, store]) => store.undoable.undo) };
  }

  // The quarantine.

  /** Refused change sets of all databases, oldest first, each with its `database`. */
  quarantined() {
    const sets = this.stores().flatMap(([database, store]) => store.quarantined().map((set) => ({ database, ...set })));
    return sets.sort((one, other) => one.at - other.at);
  }

  /** Writes a refused change set and its dependents again, in its database. */
  async resend({ database, number }, amend) {
    return (await this.upToDate(database)).resend(number, amend);
  }

  /** Deletes a refused change set and its dependents for good. */
  async discard({ database, number }) {
    return (await this.upToDate(database)).discard(number);
  }
}
