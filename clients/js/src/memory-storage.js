// A storage in memory: for tests, and for programs that need no offline edits after their end. Several stores may share one, as tabs share a database.

const logLength = 100;

/** Keeps entries in memory. */
export class MemoryStorage {
  constructor() {
    this.version = 0;
    this.entries = new Map();
    this.log = [];
  }

  async open() {}

  async close() {}

  /** Removes all. */
  async remove() {
    this.entries.clear();
    this.version += 1;
    this.log = [];
  }

  async load() {
    return { version: this.version, entries: [...this.entries.values()] };
  }

  /** What was changed since a version, `{version, changes}`; null when that is too long ago. */
  async changesSince(version) {
    if (this.version - version > this.log.length) return null;
    const behind = this.log.slice(this.log.length - (this.version - version)).flat();
    const changes = behind.map(([store, key]) => this.entries.get(`${store}\0${key}`) ?? [store, key, undefined]);
    return { version: this.version, changes };
  }

  /** Keeps changes on top of a version. @returns false when another has come first. */
  async commit(version, changes) {
    if (version !== this.version) return false;
    for (const [store, key, entry] of changes) {
      if (entry === undefined) this.entries.delete(`${store}\0${key}`);
      else this.entries.set(`${store}\0${key}`, [store, key, entry]);
    }
    this.version += 1;
    this.log.push(changes.map(([store, key]) => [store, key]));
    if (this.log.length > logLength) this.log.shift();
    return true;
  }
}
