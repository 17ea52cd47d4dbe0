// The unconfirmed edits of a record, as steps from the server's record to the one that the device shows. Pure. docs/PROTOCOL.md, section 6.4.
//
// A step is `{set, kind, …}`; `set` is the key of its change set, or null where the record's parent is not here.
//
// | kind | members | what it does |
// | --- | --- | --- |
// | create | zone, columns | the record begins |
// | update | rev, columns, base, zone? | columns get values; the record may move to another zone |
// | delete | | the record ends |
// | hidden | | the record goes with another: it has no operation of its own |
// | detached | columns, zone? | a reference loses its record, or returns to the one before, likewise |
// | moved | zone | the record moves with the one above it, likewise |

import { combined, combines } from "./merge.js";
import { forgetSets } from "./undo.js";

/** Takes steps from a record, or from null. */
export function replay(table, record, steps) {
  return steps.reduce((record, step) => taken(table, record, step), record);
}

function taken(table, record, step) {
  switch (step.kind) {
    case "create": return record ? mergedCreate(record, step) : { id: step.id, zone: step.zone, rev: 0, columns: step.columns };
    case "delete":
    case "hidden": return null;
    case "moved": return record && { ...record, zone: step.zone };
    case "detached": return record && { ...record, zone: step.zone ?? record.zone, columns: { ...record.columns, ...step.columns } };
    default: return record && updated(table, record, step);
  }
}

/** A create finds a record: the server merges. A null of the create says nothing. */
function mergedCreate(record, step) {
  const columns = { ...record.columns };
  for (const [name, value] of Object.entries(step.columns)) if (value !== null) columns[name] = value;
  return { ...record, columns };
}

function updated(table, record, step) {
  const columns = { ...record.columns };
  for (const [name, value] of Object.entries(step.columns)) {
    const policy = table.columns.get(name)?.merge;
    const [here, base] = [columns[name] ?? null, step.base[name] ?? null];
    const merge = combines(policy) && here !== base ? combined(policy, base, value, here, true) : null;
    columns[name] = merge ? merge.value : value;
  }
  return { ...record, zone: step.zone ?? record.zone, columns };
}

/** Whether a step follows from what was done to another record. */
function isConsequence(step) {
  return step.kind === "hidden" || step.kind === "detached";
}

/** Edits of records in a draft. */
export class Histories {
  constructor(draft, schema) {
    this.draft = draft;
    this.schema = schema;
  }

  /** Adds a step to a record, and shows what comes of it. */
  add(table, id, step) {
    const dirty = this.draft.dirty(table, id) ?? { table, id, server: this.draft.record(table, id) ?? null, steps: [] };
    this.keep({ ...dirty, steps: [...dirty.steps, step] });
  }

  /** Keeps a record's steps, and shows what comes of them. */
  keep(dirty) {
    const { table, id } = dirty;
    const key = `${table}/${id}`;
    if (dirty.steps.length === 0) this.draft.delete("dirty", key);
    else this.draft.put("dirty", key, dirty);
    const record = replay(this.schema.table(table), dirty.server, dirty.steps);
    if (record) this.draft.putRecord(table, record);
    else this.draft.deleteRecord(table, id);
  }

  /** The edited records of which a table is in the schema. */
  * dirty() {
    for (const [, dirty] of this.draft.entries("dirty")) if (this.schema.tables.has(dirty.table)) yield dirty;
  }

  /** The copies of the server's records, also of those that are deleted here: `[table, copy]`. */
  * copies() {
    for (const table of this.schema.tables.values()) {
      for (const { id } of this.draft.records(table.name)) {
        const copy = this.draft.serverRecord(table.name, id);
        if (copy) yield [table, copy];
      }
    }
    for (const { table, id, server } of this.dirty()) if (server && !this.draft.record(table, id)) yield [this.schema.table(table), server];
  }

  /** The server's record is another: it takes its place under the edits. What followed from other records' edits is looked at again. */
  rebase(table, id, server) {
    const dirty = this.draft.dirty(table, id);
    this.keep({ table, id, server, steps: (dirty?.steps ?? []).filter((step) => !isConsequence(step)) });
  }

  /**
   * Rolls change sets back, all at once.
   *
   * @param sets their keys.
   * @returns the keys of those that edit a record which a later set deletes.
   */
  rollBack(sets) {
    forgetSets(this.draft, sets);
    const deletedBehind = new Set();
    for (const dirty of this.dirty()) {
      const steps = dirty.steps.filter((step) => !sets.has(step.set));
      if (steps.length === dirty.steps.length) continue;
      const last = dirty.steps.findLastIndex(({ kind }) => kind === "delete");
      for (const { set } of dirty.steps.slice(0, Math.max(last, 0))) if (set !== dirty.steps[last].set) deletedBehind.add(set);
      this.keep({ ...dirty, steps });
    }
    return deletedBehind;
  }

  /** By change set: the zones in which the records of its edits are, were or would be. One that it makes itself is not among them. */
  zonesBySet() {
    const found = new Map();
    for (const { table, id, server, steps } of this.dirty()) {
      let zone = server?.zone;
      for (const step of steps) {
        const isNew = step.kind === "create" && this.schema.table(table).rule === "root" && !this.draft.get("zones", id);
        if (!found.has(step.set)) found.set(step.set, new Set());
        for (const one of isNew ? [] : [zone, step.zone]) if (one) found.get(step.set).add(one);
        zone = step.zone ?? zone;
      }
    }
    return found;
  }

  /**
   * Change sets are confirmed: until the server's records come, they are what the edits made of them.
   *
   * @returns the records that were created by it, `{table, id}`.
   */
  confirm(sets) {
    const created = [];
    for (const dirty of this.dirty()) {
      const done = dirty.steps.filter((step) => sets.has(step.set));
      if (done.length === 0) continue;
      if (done.some((step) => step.kind === "create")) created.push(dirty);
      const server = this.moved(dirty.server, replay(this.schema.table(dirty.table), dirty.server, done));
      this.keep({ ...dirty, server, steps: dirty.steps.filter((step) => !sets.has(step.set)) });
    }
    return created;
  }

  /** What a confirmed edit has moved may still be in its zone of before for the server: the move may have lost. */
  moved(before, after) {
    if (!before || !after || before.zone === after.zone) return after;
    return { ...after, movedFrom: before.movedFrom ?? before.zone };
  }

  /**
   * Puts what edits have made or moved into the zone of its parent. The zone that the edit had in mind may be one that the server has refused, or
   * that lost; and the server sends nothing of a record that it did not change.
   */
  settleZones() {
    const tables = [...this.schema.tables.values()].filter(({ rule }) => rule === "parent");
    const depth = new Map(tables.map(({ name }) => [name, this.schema.depth(name)]));
    // Parents come first.
    for (const { name, parentColumn, columns } of tables.sort((left, right) => depth.get(left.name) - depth.get(right.name))) {
      const { to } = columns.get(parentColumn);
      for (const server of this.movedCopies(name)) {
        const zone = this.draft.serverRecord(to, server.columns[parentColumn])?.zone;
        if (zone !== undefined && zone !== server.zone) this.keepCopy(name, { ...server, zone });
      }
      for (const dirty of [...this.dirty()]) if (dirty.table === name) this.settleSteps(dirty, to, parentColumn);
      for (const dirty of [...this.dirty()]) if (dirty.table === to) this.moveAlong(dirty, name, parentColumn);
    }
  }

  /** What others have put below a record since an edit moved it here goes along with it. */
  moveAlong(parent, table, column) {
    const step = parent.steps.findLast(({ kind, zone }) => kind === "moved" || (kind === "update" && zone));
    const zone = step && this.draft.record(parent.table, parent.id)?.zone;
    if (!zone) return;
    for (const child of this.draft.referring({ table, column }, parent.id)) {
      if (child.zone !== zone) this.add(table, child.id, { set: step.set, kind: "moved", zone });
    }
  }

  /** Lets the last edit that decides a record's zone say that of its parent. */
  settleSteps(dirty, to, parentColumn) {
    const record = this.draft.record(dirty.table, dirty.id);
    const zone = record && this.draft.record(to, record.columns[parentColumn])?.zone;
    if (zone === undefined || zone === record.zone) return;
    const decides = ({ kind, columns }) => kind === "create" || kind === "moved" || (columns && Object.hasOwn(columns, parentColumn));
    const last = [...dirty.steps].reverse().find(decides);
    if (last) this.keep({ ...dirty, steps: dirty.steps.map((step) => (step === last ? { ...step, zone } : step)) });
  }

  /** The copies of the server's records of a table that a confirmed edit has moved, or made and that did not come yet. */
  movedCopies(table) {
    const isMoved = (copy) => copy && (copy.movedFrom !== undefined || copy.rev === 0);
    const copies = [...this.dirty()].filter((dirty) => dirty.table === table).map(({ server }) => server).filter(isMoved);
    // Each answer passes all records: only of the few that may be meant it is looked up whether they have edits.
    for (const record of this.draft.records(table)) if (isMoved(record) && !this.draft.dirty(table, record.id)) copies.push(record);
    return copies;
  }

  /** Keeps another copy of the server's record under the edits. */
  keepCopy(table, { movedFrom, ...copy }) {
    const steps = this.draft.dirty(table, copy.id)?.steps ?? [];
    const isBack = movedFrom === undefined || movedFrom === copy.zone;
    this.keep({ table, id: copy.id, server: isBack ? copy : { ...copy, movedFrom }, steps });
  }

  // References. docs/PROTOCOL.md, section 6.3, step 6.

  /**
   * Hides what is below records that are deleted here, settles edits that refer to records that are gone, and hides copies of the server's records
   * whose parent is not here.
   */
  settle() {
    this.showOrphans();
    for (let again = true; again;) {
      again = false;
      const children = this.childrenOfDeleted();
      for (const [link, child, set] of children) again = this.hide(link, child, set) || again;
      for (const dirty of [...this.dirty()]) again = this.settleOrphan(dirty) || again;
    }
    this.hideOrphans();
  }

  /** The records that are here, and refer to one that is deleted here. */
  childrenOfDeleted() {
    const deleted = new Map();
    for (const dirty of this.dirty()) {
      const step = [...dirty.steps].reverse().find(({ kind }) => kind === "delete" || kind === "hidden");
      if (!step || this.draft.record(dirty.table, dirty.id)) continue;
      deleted.set(`${dirty.table}/${dirty.id}`, step.set);
    }
    const found = [];
    if (deleted.size === 0) return found;
    for (const link of this.schema.links.filter((link) => link.isInZone)) {
      if (![...deleted.keys()].some((key) => key.startsWith(`${link.target}/`))) continue;
      for (const child of this.draft.records(link.table)) {
        const set = deleted.get(`${link.target}/${child.columns[link.column]}`);
        if (set !== undefined) found.push([link, child, set]);
      }
    }
    return found;
  }

  hide(link, { id }, set) {
    // What was created here is settled by its own change set.
    const dirty = this.draft.dirty(link.table, id);
    if (!this.draft.record(link.table, id) || dirty?.steps.some(({ kind }) => kind === "create")) return false;
    const isDetached = link.onDelete === "set_null" && !link.required;
    this.add(link.table, id, isDetached ? { set, kind: "detached", columns: { [link.column]: null } } : { set, kind: "hidden" });
    return true;
  }

  settleOrphan({ table, id }) {
    for (const link of this.schema.linksOf({ name: table }).filter((link) => link.isInZone)) {
      const record = this.draft.record(table, id);
      const target = record?.columns[link.column] ?? null;
      if (target === null || this.draft.record(link.target, target)) continue;
      const { steps } = this.draft.dirty(table, id);
      const create = [...steps].reverse().find(({ kind }) => kind === "create");
      if (create) {
        this.add(table, id, { set: create.set, kind: "hidden" });
        return true;
      }
      const update = [...steps].reverse().find(({ kind, columns }) => kind === "update" && Object.hasOwn(columns, link.column));
      if (!update || update.base[link.column] === target) continue;
      const before = update.base[link.column] ?? null;
      // A record that was moved there is back in the zone of its parent of before.
      const isParent = this.schema.table(table).parentColumn === link.column;
      const zone = isParent ? this.draft.record(link.target, before)?.zone : undefined;
      this.add(table, id, { set: update.set, kind: "detached", columns: { [link.column]: before }, zone });
      return true;
    }
    return false;
  }

  /**
   * Hides records whose parent is not here, or the reference where it may be empty: the server has removed or moved them too, and says so in a part
   * that is still to come. If it has not, the parent comes. The step is of no change set: the copy below it is the server's, and stays so.
   */
  hideOrphans() {
    for (let again = true; again;) {
      again = false;
      for (const { table, column, target, required } of this.schema.links.filter((link) => link.isInZone)) {
        for (const { id, columns } of [...this.draft.records(table)]) {
          const parent = columns[column] ?? null;
          if (parent === null || this.draft.record(target, parent)) continue;
          this.add(table, id, required ? { set: null, kind: "hidden" } : { set: null, kind: "detached", columns: { [column]: null } });
          again = true;
        }
      }
    }
  }

  /** Whether they are still orphans is looked at again. */
  showOrphans() {
    for (const dirty of [...this.dirty()]) {
      const steps = dirty.steps.filter(({ set }) => set !== null);
      if (steps.length < dirty.steps.length) this.keep({ ...dirty, steps });
    }
  }
}
