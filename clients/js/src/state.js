// All that a device keeps, in memory, and drafts of what a transaction makes of it. Pure.
//
// Stores are maps of entries by key. Entries are never changed in place: a new one takes the place of the old one.
//
// | store | key | entry |
// | --- | --- | --- |
// | `records/TABLE` | id | `{id, zone, rev, columns}`: the record as the device shows it; `movedFrom` is its zone before a move that was confirmed, but did not come yet, or in which a restored server has it |
// | `dirty` | TABLE/id | `{table, id, server, steps}`: the server's record, and the edits on top of it that are not confirmed. In the storage without `steps` |
// | `steps` | TABLE/id/padded number | one of the edits, only in the storage: an edit does not write those before it again |
// | `outbox` | padded number | `{key, first, last, before, chain, body, moved, origin}`: a sealed change set; `moved` is `{zone, database, zones}` where a zone of its records has moved to another database; `origin` is that of one that is carried from another database |
// | `quarantine` | padded number | a refused change set |
// | `zones` | zone | see zones.js |
// | `pages` | zone, number | the changes of a part whose zone is not whole |
// | `recovered` | depth of the table, padded number | a record that a restored server has lost |
// | `unapplied` | padded number | `{first, body}`: a change set that was confirmed before its zones were whole here |
// | `deleted` | TABLE/id | a deletion that the server told, `{table, id, zone, rev, at}` |
// | `undo` | padded number | how a transaction of this device changed records |
// | `local` | `device` | the session, the clock, the numbers |
// | `local` | `carried` and an origin | a change set of another database's quarantine that was written here, as its zone has moved |
// | `local` | `columns` | the columns of the app's schema, each as `Schema.columnForms` gives it |

/** What a device is before it has a session. */
export const newDevice = {
  user: null, userName: null, device: null, session: 0, token: null, cookie: null,
  clock: "0000000000000000", lastServerClock: "0000000000000000",
  nextKey: 1, nextNumber: 1, chain: "0000000000000000", confirmed: 0, confirmedChain: "0000000000000000",
  resend: false, proof: "", prove: [], replica: null, nextQuarantine: 1, nextPage: 1, nextUndo: 1, serverSchema: null,
};

/** A number as a key whose order is the number's. */
export function numberKey(number) {
  return String(number).padStart(16, "0");
}

/** Where it is noted that a change set of an origin was carried here. */
export function carriedKey(origin) {
  return `carried ${origin}`;
}

/** What the storage is to keep of the edits of a record. A step that is kept has its number. */
function* dirtyChanges(key, before, after) {
  const former = before?.steps ?? [];
  // A storage of earlier clients has the steps within.
  const isEarlier = former.some(({ number }) => number === undefined);
  if (!after) yield ["dirty", key, undefined];
  else if (!before || isEarlier || before.server !== after.server) yield ["dirty", key, { table: after.table, id: after.id, server: after.server }];
  const kept = new Map(former.map((step) => [step.number, step]));
  let number = isEarlier ? 0 : former.at(-1)?.number ?? 0;
  for (const step of after?.steps ?? []) {
    const own = step.number ?? (number += 1);
    if (kept.get(own) !== step) yield ["steps", `${key}/${numberKey(own)}`, { ...step, number: own }];
    kept.delete(own);
  }
  for (const own of kept.keys()) if (own !== undefined) yield ["steps", `${key}/${numberKey(own)}`, undefined];
}

/** The committed entries, and their version. */
export class State {
  version = 0;
  stores = new Map();

  store(name) {
    let store = this.stores.get(name);
    if (!store) this.stores.set(name, store = new Map());
    return store;
  }

  /** Takes changes `[store, key, entry]`; an entry that is undefined goes. */
  apply(changes, version) {
    for (const [name, key, entry] of changes) {
      if (name === "steps") this.applyStep(key, entry);
      else if (entry === undefined) this.store(name).delete(key);
      else this.store(name).set(key, name === "dirty" ? { ...entry, steps: entry.steps ?? this.numberedSteps(key) } : entry);
    }
    this.version = version;
  }

  numberedSteps(key) {
    return (this.store("dirty").get(key)?.steps ?? []).filter(({ number }) => number !== undefined);
  }

  applyStep(stepKey, step) {
    const slash = stepKey.lastIndexOf("/");
    const [key, number] = [stepKey.slice(0, slash), Number(stepKey.slice(slash + 1))];
    const dirty = this.store("dirty").get(key);
    if (!dirty && !step) return;
    const steps = dirty?.steps ?? [];
    // Nearly always the last one. Drafts read the entry of before.
    const at = steps.findLastIndex((other) => other.number < number) + 1;
    const after = steps.slice(steps[at]?.number === number ? at + 1 : at);
    this.store("dirty").set(key, { ...dirty, steps: [...steps.slice(0, at), ...(step ? [step] : []), ...after] });
  }
}

function noteReference(index, column, { id, columns: { [column]: target } }) {
  if (target === null) return;
  if (!index.has(target)) index.set(target, new Set());
  index.get(target).add(id);
}

/** What a transaction makes of a state: nothing of it is seen by others until it is committed. */
export class Draft {
  constructor(state) {
    this.state = state;
    this.changed = new Map();
    /** By table and column: the ids of records by what they refer to, or referred to when it was looked for. */
    this.references = new Map();
    /** While something is attempted, what was changed, as it was before. */
    this.journal = null;
  }

  get(name, key) {
    const changed = this.changed.get(name);
    return changed?.has(key) ? changed.get(key) : this.state.stores.get(name)?.get(key);
  }

  put(name, key, entry) {
    let changed = this.changed.get(name);
    if (!changed) this.changed.set(name, changed = new Map());
    this.journal?.push([changed, key, changed.has(key), changed.get(key)]);
    changed.set(key, entry);
  }

  delete(name, key) {
    if (this.get(name, key) !== undefined) this.put(name, key, undefined);
  }

  storeNames() {
    return [...new Set([...this.state.stores.keys(), ...this.changed.keys()])];
  }

  /** The entries of a store. Changes made meanwhile are not among them. */
  * entries(name) {
    const changed = new Map(this.changed.get(name));
    for (const [key, entry] of [...(this.state.stores.get(name) ?? [])]) {
      if (!changed.has(key)) yield [key, entry];
    }
    for (const [key, entry] of changed) if (entry !== undefined) yield [key, entry];
  }

  /** The entries of a store in the order of their keys. */
  sorted(name) {
    return [...this.entries(name)].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, entry]) => entry);
  }

  /** Runs `body`. When it throws, the draft is as it was. */
  attempt(body) {
    this.journal = [];
    try {
      return body();
    } catch (error) {
      for (const [changed, key, isChanged, entry] of this.journal.reverse()) {
        if (isChanged) changed.set(key, entry);
        else changed.delete(key);
      }
      this.references.clear();
      throw error;
    } finally {
      this.journal = null;
    }
  }

  isEmpty(name) {
    return this.entries(name).next().done;
  }

  get device() {
    return this.get("local", "device") ?? newDevice;
  }

  set device(device) {
    this.put("local", "device", device);
  }

  changes() {
    const changes = [];
    for (const [name, changed] of this.changed) {
      for (const [key, entry] of changed) {
        const before = this.state.stores.get(name)?.get(key);
        if (entry === undefined && before === undefined) continue;
        if (name === "dirty") changes.push(...dirtyChanges(key, before, entry));
        else changes.push([name, key, entry]);
      }
    }
    return changes;
  }

  // Records.

  record(table, id) {
    return this.get(`records/${table}`, id);
  }

  /** The records of a table. */
  * records(table) {
    for (const [, record] of this.entries(`records/${table}`)) yield record;
  }

  /** The records that refer to one by the column of a link. */
  referring({ table, column }, id) {
    let columns = this.references.get(table);
    if (!columns) this.references.set(table, columns = new Map());
    if (!columns.has(column)) {
      columns.set(column, new Map());
      for (const record of this.records(table)) noteReference(columns.get(column), column, record);
    }
    const known = [...columns.get(column).get(id) ?? []].map((child) => this.record(table, child));
    return known.filter((child) => child && child.columns[column] === id);
  }

  putRecord(table, record) {
    this.put(`records/${table}`, record.id, record);
    for (const [column, index] of this.references.get(table) ?? []) noteReference(index, column, record);
  }

  deleteRecord(table, id) {
    this.delete(`records/${table}`, id);
  }

  dirty(table, id) {
    return this.get("dirty", `${table}/${id}`);
  }

  /** The server's copy of a record, as far as it is known: null where there is none. */
  serverRecord(table, id) {
    const dirty = this.dirty(table, id);
    return dirty ? dirty.server : this.record(table, id) ?? null;
  }
}
