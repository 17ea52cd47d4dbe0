// The stores of a folder. docs/WEB.md, section 4; docs/FOLDERS.md.

import { listen, tell } from "./entries.js";
import { checkUnsent, leave, momentOf } from "./erasing.js";
import { home, isDatabaseName } from "./folder-list.js";
import { Draft } from "./state.js";
import { StoreError } from "./store-error.js";
import { Store } from "./store.js";
import { zonesOf } from "./zones.js";

/** What a store has. */
export const draftOf = (store) => new Draft(store.state);

/** Whether a server may have an address. */
function isAddress(server) {
  try {
    return /^https?:$/.test(new URL(server).protocol);
  } catch {
    return false;
  }
}

/** The databases of a folder: opens those that its list names, and removes those that leave. */
export class FolderStores {
  constructor(list, store, { storage, schema, environment }) {
    Object.assign(this, { list, storage, schema, environment });
    this.home = store;
    /** By name: `{row, store, error}`, with a store that is open or was, or the error why it can't be opened. */
    this.entries = new Map();
    this.listeners = new Set();
    this.watchers = new Set();
    this.announced = "";
    this.queue = Promise.resolve();
    this.isClosed = false;
    this.enter({ row: list.rows()[0], store, error: null });
  }

  async close() {
    await this.inTurn(() => { this.isClosed = true; });
    for (const { store } of this.entries.values()) await store?.close();
    await this.list.close();
  }

  // The databases.

  /** The databases, home first: `{name, server, state, error}`. */
  get databases() {
    return [...this.entries.values()].sort((one, other) => one.row.number - other.row.number).map(({ row: { name, server }, store, error }) => {
      const problem = store ? store.ended : error;
      return { name, server, state: problem ? "failed" : "open", error: problem ?? null };
    });
  }

  /** Calls `listener` with the databases, now and whenever one comes, leaves, fails or is mended. @returns a function that ends it. */
  onDatabases(listener) {
    return listen(this.watchers, listener, () => listener(this.databases));
  }

  /** The store of a database; undefined when it is not open. */
  store(name) {
    return this.entries.get(name)?.store ?? undefined;
  }

  /** All stores, home's first: `[name, store]`. One that has ended shows what it had. */
  stores() {
    return this.databases.filter(({ name }) => this.store(name)).map(({ name }) => [name, this.store(name)]);
  }

  /** Those that can be read and written. */
  usable() {
    return this.stores().filter(([, store]) => !store.ended);
  }

  /**
   * Adds a database. One that is there already gets the address.
   *
   * @throws RangeError for a name that can't be one, or when there are ten; why its storage can't be opened.
   */
  async add(name, { server } = {}) {
    if (!isDatabaseName(name)) throw new RangeError(`"${name}" can't be the name of a database. Take 1 to 32 of a-z, 0-9, _ and -, beginning with a letter, and not home, main, temp, folder or a device's such as con.`);
    if (server !== undefined && !isAddress(server)) throw new RangeError(`"${server}" is no address of a server. Give one such as https://school.example.`);
    while (!await this.list.add(name, server)) {
      const failure = (await this.follow()).get(name);
      if (failure) throw failure;
    }
    await this.follow({ again: true });
    const database = this.databases.find((database) => database.name === name);
    if (!database) throw new StoreError("database-closed", `Another tab has removed the database ${name}.`);
    if (database.error) throw database.error;
    return database;
  }

  /** Tries again to open what could not be opened, and takes what other tabs have done. */
  async reload() {
    await this.follow({ again: true });
    await Promise.all(this.usable().map(([, store]) => store.catchUp()));
  }

  inTurn(body) {
    const run = this.queue.then(body);
    this.queue = run.then(() => {}, () => {});
    return run;
  }

  /**
   * Does what is marked, and brings what is open to the list.
   *
   * @param own the numbers of this call's own marks, by name.
   * @param again whether what has failed is tried again.
   * @returns why marks were not done, by name.
   */
  follow({ own = new Map(), again = false } = {}) {
    return this.inTurn(async () => {
      const failures = new Map();
      if (this.isClosed) return failures;
      await this.list.catchUp();
      // Home is the last.
      for (const row of this.list.rows().reverse()) {
        const error = row.leaving && await this.finish(row, own.get(row.name) === row.leaving.number);
        if (error) failures.set(row.name, error);
      }
      const rows = this.list.rows();
      for (const row of rows) {
        // Another tab may have been there first.
        if (row.failure && row.failure.number === own.get(row.name) && !failures.has(row.name)) failures.set(row.name, new RangeError(row.failure.reason));
      }
      for (const [name, { row: { file } }] of [...this.entries]) if (!rows.some((row) => row.name === name && row.file === file)) await this.shut(name);
      await Promise.all(rows.map((row) => this.bring(row, again)));
      this.announce();
      return failures;
    });
  }

  announce() {
    const { databases } = this;
    const text = JSON.stringify(databases.map(({ error, ...database }) => [database, error?.message, this.entries.get(database.name).row.file]));
    if (text === this.announced) return;
    this.announced = text;
    for (const watcher of [...this.watchers]) if (this.watchers.has(watcher)) tell(watcher, databases);
    // Other records are here.
    for (const entry of [...this.listeners]) if (this.listeners.has(entry)) tell(entry.run);
  }

  // Opening and closing.

  async bring(row, again) {
    const known = this.entries.get(row.name);
    if (known) known.row = row;
    if (known && !(again && this.mayMend(known))) return;
    try {
      this.enter({ row, store: await this.openStore(row), error: null });
    } catch (error) {
      // One that was open shows what it had.
      if (!known?.store) this.enter({ row, store: null, error });
    }
  }

  enter(entry) {
    const { row, store } = entry;
    this.entries.set(row.name, entry);
    if (!store) return;
    store.observers.add((kind) => { if (kind === "ended") this.announce(); });
    for (const listener of this.listeners) store.listeners.add(listener);
  }

  /** Whether another try may do. Home, and what another version of the app has, comes with the next page. */
  mayMend({ row, store }) {
    return row.name !== home && (!store || store.ended?.code === "database-closed");
  }

  async openStore(row) {
    const storage = this.storage(row.file);
    try {
      const store = await Store.open({ storage, schema: this.schema, environment: this.environment });
      store.noteZones = (zones) => (zones.length > 0 ? this.list.noteZones(row, zones) : undefined);
      const here = () => zonesOf(draftOf(store), this.schema);
      if (!row.hasZones) await this.list.noteZones(row, here(), true);
      else if (this.list.hasOtherZones(row.name, here())) {
        await this.list.forgetZones(row.name, () => store.transact((draft) => {
          draft.device = { ...draft.device };
          return zonesOf(draft, this.schema);
        }));
      }
      return store;
    } catch (error) {
      await storage.close().catch(() => {});
      throw error;
    }
  }

  async shut(name) {
    const { store } = this.entries.get(name);
    this.entries.delete(name);
    for (const listener of this.listeners) store?.listeners.delete(listener);
    await store?.close().catch(() => {});
  }

  // Leaving.

  /**
   * Signs databases out, and removes their data if that is wanted. It is marked first, and goes on in another tab, or at the next start.
   *
   * @returns why it was not done, by name: these are as they were.
   * @throws RangeError when something would be lost, or why one can't be looked at: nothing has changed then.
   */
  async leave(names, { erases = false, force = false } = {}) {
    await this.follow();
    const marks = new Map();
    for (const name of names) {
      marks.set(name, { erases, force, edits: null, ...await this.moment(name, erases, force) });
    }
    return this.follow({ own: await this.list.mark(marks) });
  }

  async moment(name, erases, force) {
    try {
      const store = await this.upToDate(name);
      if (erases && !force) checkUnsent(draftOf(store), this.schema);
      return momentOf(draftOf(store), this.schema, force);
    } catch (error) {
      if (erases && !force) throw error;
      // What can't be looked at.
      return {};
    }
  }

  /** Does what a database is marked for. @returns why it can't be done: the mark is gone then, unless it is another page's and the database can't be opened now. */
  async finish(row, isOwn) {
    const { name, leaving } = row;
    const isRemoved = leaving.erases && name !== home;
    try {
      const isEmptied = await this.empty(row, isRemoved, isOwn);
      if (!isRemoved) await this.list.unmark(name, leaving.number);
      else {
        if (this.entries.has(name)) await this.shut(name);
        // One that is empty is used by nobody any more.
        await this.discardStorage(row.file).catch((error) => { if (!isEmptied) throw error; });
        await this.list.remove(name, leaving.number);
      }
      return null;
    } catch (error) {
      if (isOwn || error instanceof RangeError) await this.list.unmark(name, leaving.number, error.message).catch(() => {});
      return error;
    }
  }

  async discardStorage(file) {
    await this.storage(file).remove?.();
  }

  /** @returns whether nothing is in the database now; false when it can't be opened, and goes whole. */
  async empty(row, isRemoved, isOwn) {
    const { name, leaving } = row;
    const known = this.store(name);
    let store = known?.ended ? undefined : known;
    try {
      // Another tab has emptied it, or another version of the app has it.
      if (known?.ended && (known.ended.isGone || !this.mayMend(this.entries.get(name)))) throw known.ended;
      store ??= await this.openStore(row);
      await store.catchUp();
      await store.transact((draft) => leave(draft, this.schema, leaving, isRemoved));
      return true;
    } catch (error) {
      if (isRemoved && error.isGone) return true;
      const isWhole = isRemoved && isOwn && leaving.force && leaving.device === undefined && !store && error.code !== "database-is-newer";
      if (!isWhole) throw error;
      return false;
    } finally {
      if (store && store !== known) await store.close().catch(() => {});
    }
  }

  /** The store of a database with all that other tabs have committed. @throws why there is none now. */
  async upToDate(name) {
    const { store, error } = this.entries.get(name) ?? { error: new RangeError(`There is no database ${name}.`) };
    if (!store) throw error;
    await store.catchUp();
    if (store.ended) throw store.ended;
    return store;
  }
}
