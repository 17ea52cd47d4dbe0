// A storage in the browser's IndexedDB. Each commit is one transaction with `durability: "strict"`: what a write returned for survives the
// end of the browser.

import { closed, replaced } from "./store-error.js";

/** Clients that know an earlier one cannot read what this one writes: their tabs lose the database. 2: the steps of an edited record are entries of their own. */
const formVersion = 2;
const logLength = 100;
const longestLogEntry = 2000;

function done(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

function ended(transaction) {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve(true);
    transaction.onabort = () => reject(transaction.error ?? new DOMException("The transaction was aborted.", "AbortError"));
  });
}

/** Keeps entries in a database of this origin. */
export class IndexedDBStorage {
  /** @param name the database's name. */
  constructor(name, factory = globalThis.indexedDB) {
    this.name = name;
    this.factory = factory;
    this.database = null;
    /** Called with a StoreError when the database is no longer this tab's. */
    this.onClosed = () => {};
  }

  async open() {
    const request = this.factory.open(this.name, formVersion);
    request.onupgradeneeded = ({ oldVersion }) => {
      if (oldVersion === 0) for (const store of ["entries", "log", "meta"]) request.result.createObjectStore(store);
    };
    this.database = await done(request).catch((error) => { throw error?.name === "VersionError" ? replaced() : error; });
    // A tab of a later client changes the form of the database, or the database is deleted.
    this.database.onversionchange = ({ newVersion }) => {
      this.database.close();
      this.onClosed(newVersion === null ? closed(true) : replaced());
    };
    this.database.onclose = () => this.onClosed(closed());
  }

  async close() {
    this.database?.close();
  }

  /** Removes the database. A tab that can't let go of it now, such as a suspended one, keeps it until it does. */
  async remove() {
    this.database?.close();
    const request = this.factory.deleteDatabase(this.name);
    await new Promise((resolve, reject) => {
      request.onsuccess = request.onblocked = () => resolve();
      request.onerror = () => reject(request.error);
    });
  }

  async load() {
    const transaction = this.database.transaction(["entries", "meta"], "readonly");
    const [version, entries] = await Promise.all([
      done(transaction.objectStore("meta").get("version")), done(transaction.objectStore("entries").getAll()),
    ]);
    return { version: version ?? 0, entries };
  }

  async changesSince(version) {
    const transaction = this.database.transaction(["entries", "log", "meta"], "readonly");
    const current = await done(transaction.objectStore("meta").get("version")) ?? 0;
    if (current === version) return { version, changes: [] };
    if (current - version > logLength) return null;
    const range = IDBKeyRange.bound(version, current, true, false);
    const log = await done(transaction.objectStore("log").getAll(range));
    if (log.length !== current - version || log.includes(null)) return null;
    const keys = log.flat();
    const store = transaction.objectStore("entries");
    const entries = await Promise.all(keys.map(([name, key]) => done(store.get([name, key]))));
    return { version: current, changes: keys.map(([name, key], index) => entries[index] ?? [name, key, undefined]) };
  }

  async commit(version, changes) {
    const transaction = this.database.transaction(["entries", "log", "meta"], "readwrite", { durability: "strict" });
    const end = ended(transaction);
    end.catch(() => {});
    const current = await done(transaction.objectStore("meta").get("version")) ?? 0;
    if (current !== version) {
      transaction.abort();
      await end.catch(() => {});
      return false;
    }
    try {
      this.put(transaction, version + 1, changes);
    } catch (error) {
      // A value that has no form in the database: the browser would commit what was put before it.
      transaction.abort();
      await end.catch(() => {});
      throw error;
    }
    return end;
  }

  put(transaction, version, changes) {
    const store = transaction.objectStore("entries");
    for (const [name, key, entry] of changes) {
      if (entry === undefined) store.delete([name, key]);
      else store.put([name, key, entry], [name, key]);
    }
    const keys = changes.map(([name, key]) => [name, key]);
    const log = transaction.objectStore("log");
    log.put(keys.length > longestLogEntry ? null : keys, version);
    log.delete(version - logLength);
    transaction.objectStore("meta").put(version, "version");
  }
}
