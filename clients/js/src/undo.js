// Undoing this device's own transactions, on top of whatever has happened since. docs/UNDO.md.

import { utf8Length } from "./bytes.js";
import { combined } from "./merge.js";
import { operationLimit } from "./sealing.js";
import { numberKey } from "./state.js";
import { WriteError } from "./write-error.js";

/** How many transactions are kept. */
const longest = 100;
/** So many bytes are kept of all. A larger transaction, or one whose undo would be too large, leaves nothing to undo. */
const largest = 4 << 20;

const keyOf = ({ table, id }) => `${table}/${id}`;

/** Remembers what a transaction changed at a time, which has just been sealed. @param kind `undo` or `redo`. */
export function remember(draft, changes, at, kind = "undo") {
  const own = changes.filter(({ table }) => table !== "conflicts");
  if (own.length === 0) return;
  const written = utf8Length(JSON.stringify(own, (_, value) => (typeof value === "bigint" ? String(value) : value)));
  const size = own.length > operationLimit ? Infinity : written;
  const { device } = draft;
  draft.put("undo", numberKey(device.nextUndo), { kind, at, set: device.nextKey - 1, size, changes: own });
  draft.device = { ...device, nextUndo: device.nextUndo + 1 };
  let total = 0;
  newestFirst(draft).forEach(([key, { size = 0 }], index) => {
    total += size;
    if (index >= longest || total > largest) draft.delete("undo", key);
  });
}

function newestFirst(draft) {
  return [...draft.entries("undo")].sort(([left], [right]) => (left < right ? 1 : -1));
}

/** Forgets transactions whose change sets were refused: they are rolled back already. */
export function forgetSets(draft, sets) {
  for (const [key, { set }] of [...draft.entries("undo")]) if (sets.has(set)) draft.delete("undo", key);
}

/** Forgets what was undone: a new edit has come since. */
export function forgetRedo(draft) {
  for (const [key, { kind }] of [...draft.entries("undo")]) if (kind === "redo") draft.delete("undo", key);
}

/** The last transaction of a kind: `{key, at, changes}`; undefined when there is none. */
export function lastOf(draft, kind) {
  const [key, entry] = newestFirst(draft).find(([, entry]) => entry.kind === kind) ?? [];
  return entry && { key, at: entry.at ?? 0, changes: entry.changes };
}

/**
 * Reverses the last transaction of a kind, where the records are still as it left them.
 *
 * @param forbidden the keys of records that would break a rule of the schema; null for all.
 * @returns how many records were changed, and how many were left as they are; null when there is none.
 */
export function reverse(transaction, kind, forbidden) {
  const { draft } = transaction;
  const { key, changes } = lastOf(draft, kind) ?? {};
  if (!key) return null;
  draft.delete("undo", key);
  const undoing = new Undoing(transaction, changes.filter((change) => forbidden && !forbidden.has(keyOf(change))));
  undoing.run();
  return { changed: undoing.changed.size, kept: changes.length - undoing.changed.size };
}

/** One undo: what a transaction did, rolled back where nobody has changed it since. */
class Undoing {
  constructor(transaction, changes) {
    this.transaction = transaction;
    this.draft = transaction.draft;
    this.schema = transaction.schema;
    this.changes = changes;
    /** The keys of the records that it has changed. */
    this.changed = new Set();
  }

  /** References first, so that nothing goes along with a record that goes; other columns last, when unique values are free again. */
  run() {
    const later = [];
    for (const change of this.changes.filter(({ before, after }) => before && after)) {
      for (const name of Object.keys(change.before.columns)) {
        if (change.before.columns[name] === change.after.columns[name]) continue;
        if (this.isReferenceToRecord(change, name)) this.restore(change, name);
        else later.push([change, name]);
      }
    }
    this.deleteCreated();
    this.bringBackDeleted();
    for (const [change, name] of later) this.restore(change, name);
  }

  /** Runs a write, which a rule of the schema may forbid. */
  attempt(change, write) {
    try {
      write();
    } catch (error) {
      if (!(error instanceof WriteError)) throw error;
      return;
    }
    this.changed.add(keyOf(change));
  }

  // Columns.

  link(table, name) {
    return this.schema.linksOf({ name: table }).find((link) => link.isInZone && link.column === name);
  }

  /** Whether the column referred to a record that is here, or to none. */
  isReferenceToRecord({ table, before }, name) {
    const link = this.link(table, name);
    return Boolean(link) && (before.columns[name] === null || Boolean(this.draft.record(link.target, before.columns[name])));
  }

  restore(change, name) {
    const { table, id } = change;
    const here = this.draft.record(table, id);
    if (!here) return;
    let [value, made, now] = [change.before, change.after, here].map(({ columns }) => columns[name] ?? null);
    const link = this.link(table, name);
    if (link && value !== null && !this.draft.record(link.target, value)) return;
    // What the transaction found is taken as it was, to the byte.
    if (now !== made) {
      const policy = this.schema.table(table).columns.get(name)?.merge;
      const merge = policy === "counter" || policy === "set" ? combined(policy, made, value, now, true) : null;
      if (!merge) return;
      ({ value } = merge);
    }
    this.attempt(change, () => this.transaction.updateKept(table, id, { [name]: value }));
  }

  // Records.

  /** Deletes what the transaction created and nobody has changed, children before parents, unless something that stays refers to it. */
  deleteCreated() {
    const going = new Map(this.changes.filter((change) => !change.before && this.isUnchanged(change)).reverse().map((change) => [keyOf(change), change]));
    for (const stack = [...going.values()].filter((change) => this.isReferredTo(change, going)); stack.length > 0;) {
      const { table, id } = stack.pop();
      going.delete(`${table}/${id}`);
      const { columns } = this.draft.record(table, id);
      for (const link of this.schema.linksOf({ name: table })) {
        const target = going.get(`${link.target}/${columns[link.column]}`);
        if (target) stack.push(target);
      }
    }
    for (const change of going.values()) this.attempt(change, () => this.transaction.delete(change.table, change.id));
  }

  isUnchanged({ table, id, after }) {
    const here = this.draft.record(table, id);
    if (!here) return false;
    const steps = this.draft.dirty(table, id)?.steps ?? [];
    return Object.entries(after.columns).every(([name, made]) => {
      if ((here.columns[name] ?? null) === made) return true;
      // A null of a create says nothing: the server may have filled the column in, which is no change of anybody's.
      return made === null && here.rev <= 1 && !steps.some(({ kind, columns }) => kind === "update" && Object.hasOwn(columns, name));
    });
  }

  /** Whether a record that stays refers to one, from whatever zone, or somebody else is a member of its zone. */
  isReferredTo({ table, id }, going) {
    const refers = (link) => this.draft.referring(link, id).some((record) => !going.has(`${link.table}/${record.id}`));
    if (this.schema.linksTo({ name: table }).some(refers)) return true;
    return this.schema.table(table).rule === "root"
      && [...this.draft.records("members")].some(({ zone, columns }) => zone === id && columns.user !== this.draft.device.user);
  }

  /** Inserts what the transaction deleted, parents before children. */
  bringBackDeleted() {
    const references = (change) => this.schema.linksOf({ name: change.table })
      .filter((link) => link.isInZone && (change.before.columns[link.column] ?? null) !== null)
      .map((link) => ({ ...link, isHere: Boolean(this.draft.record(link.target, change.before.columns[link.column])) }));
    let waiting = this.changes.filter(({ table, id, after }) => !after && !this.draft.record(table, id)).reverse();
    const back = [];
    for (let count = -1; waiting.length !== count;) {
      count = waiting.length;
      waiting = waiting.filter((change) => {
        const gone = references(change).filter(({ isHere }) => !isHere);
        if (gone.some(({ required }) => required)) return true;
        const emptied = Object.fromEntries(gone.map(({ column }) => [column, null]));
        this.attempt(change, () => this.transaction.insertKept(change.table, change.id, { ...change.before.columns, ...emptied }, change.before.zone));
        back.push(change);
        return false;
      });
    }
    // What they refer to may have come back after them.
    for (const change of back) {
      const here = this.draft.record(change.table, change.id);
      for (const { column } of references(change).filter(({ column, isHere }) => here && isHere && here.columns[column] === null)) {
        this.attempt(change, () => this.transaction.updateKept(change.table, change.id, { [column]: change.before.columns[column] }));
      }
    }
  }
}
