// Makes one change set of what a transaction has changed. docs/PROTOCOL.md, section 6.1.
//
// The server applies the operations one after the other, and a deletion takes along what refers to the record at that moment. So that it comes to
// the same records as this device:
//
// 1. A record has one operation, which leads from what it was before the transaction to what it is after it. One that was deleted and created
//    again in between is updated: a deletion would take along what was moved away from it and back.
// 2. A create comes before what refers to the record. Where records that are created refer to each other in a circle, an update sets the last
//    reference: the server takes a reference to a record that is still deleted out of a create.
// 3. Deletions come last: by then nothing that stays refers to the record.

import { chained, utf8Length } from "./bytes.js";
import { Histories } from "./history.js";
import { sealedOperation } from "./operations.js";
import { numberKey } from "./state.js";
import { nextStamp } from "./time.js";
import { WriteError } from "./write-error.js";

export const operationLimit = 10_000;
/** Of a change set that only deletes, if at most `operationLimit` of its records are not below others of them. */
const deletionLimit = 100_000;
const changeSetSize = 8 << 20;

const keyOf = ({ table, id }) => `${table}/${id}`;
/** The server keeps all but the role of a member: another one with the same id is a new record. */
const isMadeAgain = ({ table, isDeleted }) => table === "members" && isDeleted;
/** Up to which rev of the record an edit knows what others have written. */
const knownRev = ({ before, origin }) => Math.min(before.rev, origin?.rev ?? before.rev);

/**
 * The records that are created or updated, in the order of their operations.
 *
 * @param changes `{table, id, before, after, isDeleted}`, in the order of their first edits.
 * @returns `{change, late}`: the columns whose references can't be there yet when the record is created.
 */
export function inOrder(schema, changes) {
  const written = changes.filter(({ after }) => after);
  const created = new Map(written.filter(({ before }) => !before).map((change) => [keyOf(change), change]));
  const references = (change) => schema.linksOf({ name: change.table })
    .map((link) => ({ link, target: created.get(`${link.target}/${change.after.columns[link.column]}`) })).filter(({ target }) => target);
  const [begun, placed, ordered] = [new Set(), new Set(), []];
  for (const change of written) {
    // What a record refers to goes on top of it. No recursion: chains may be as long as the change set.
    for (const stack = begun.has(change) ? [] : [change]; stack.length > 0;) {
      const top = stack.at(-1);
      begun.add(top);
      const targets = references(top);
      const next = targets.find(({ target }) => !begun.has(target));
      if (next) {
        stack.push(next.target);
        continue;
      }
      stack.pop();
      const isLate = ({ link, target }) => !top.before && !link.required && !placed.has(target);
      ordered.push({ change: top, late: targets.filter(isLate).map(({ link }) => link.column) });
      placed.add(top);
    }
  }
  return ordered;
}

/** Seals the changes of one transaction. */
export class Sealing {
  constructor(draft, schema, now) {
    Object.assign(this, { draft, schema, now });
    this.operations = [];
    this.set = draft.device.nextKey;
    this.clock = draft.device.clock;
  }

  /**
   * Puts the change set into the outbox, and its steps on top of the records.
   *
   * @param changes `{table, id, before, after, isDeleted, origin}`: `origin` is the `{rev, stamp}` of an edit that was made before; null for one of now.
   * @param moved records that went to another zone with the one above them, `{table, id, record}`.
   */
  seal(changes, moved) {
    const steps = [];
    const late = [];
    for (const ordered of inOrder(this.schema, changes)) {
      steps.push(...this.write(ordered.change, ordered.late));
      if (ordered.late.length > 0) late.push(ordered);
    }
    for (const { change, late: names } of late) this.writeUpdate(change, names, 0, () => null);
    for (const change of changes) if (change.before && !change.after) steps.push(this.delete(change));
    const { operations } = this;
    if (operations.length === 0) return;
    const body = `[${operations.join(",")}]`;
    if (operations.length > this.limitOf(changes) || utf8Length(body) > changeSetSize) {
      throw new WriteError("change-set-too-large", "The transaction is too large. Write at most 10,000 operations and 8 MiB at once. A transaction that only deletes may delete 100,000 records, if at most 10,000 of them are not below others: delete some of what is below a record first, in transactions of their own.");
    }
    for (const { table, id, before, step } of steps) this.addStep(table, id, before, step);
    for (const { table, id, record } of moved) {
      this.addStep(table, id, record, { set: this.set, kind: "moved", zone: this.draft.record(table, id).zone });
    }
    const { device } = this.draft;
    const chain = chained(device.chain, body);
    const [first, count] = [device.nextNumber, operations.length];
    this.draft.put("outbox", numberKey(this.set), { key: this.set, first, last: first + count - 1, before: device.chain, chain, body });
    this.draft.device = { ...device, clock: this.clock, chain, nextKey: this.set + 1, nextNumber: first + count };
  }

  /** How many operations the change set may have. The server deletes what is below a record bit by bit, so that these are not counted. */
  limitOf(changes) {
    if (this.operations.length <= operationLimit || changes.some(({ after }) => after)) return operationLimit;
    const deleted = new Set(changes.map(keyOf));
    const isBelow = ({ table, id, before }) => this.schema.linksOf({ name: table }).some((link) => {
      const above = `${link.target}/${before?.columns[link.column]}`;
      return link.isInZone && link.onDelete === "cascade" && above !== `${table}/${id}` && deleted.has(above);
    });
    return changes.filter((change) => !isBelow(change)).length > operationLimit ? operationLimit : deletionLimit;
  }

  /** Adds a step on top of what was there before the transaction. */
  addStep(table, id, before, step) {
    if (!this.draft.dirty(table, id)) this.draft.put("dirty", `${table}/${id}`, { table, id, server: before, steps: [] });
    new Histories(this.draft, this.schema).add(table, id, step);
  }

  operation(op, { table, id, origin }, members) {
    this.clock = nextStamp(this.clock, this.now);
    const at = origin && origin.stamp < this.clock ? origin.stamp : this.clock;
    this.operations.push(sealedOperation({ op, table: this.schema.table(table), id, at, ...members }));
  }

  /** Writes the operation of a record that stays. @returns its steps. */
  write(change, late) {
    const { set } = this;
    const { table, id, before, after } = change;
    const steps = isMadeAgain(change) && before ? [this.delete(change)] : [];
    if (!before || isMadeAgain(change)) {
      const { columns } = this.schema.table(table);
      const values = Object.entries(after.columns).map(([name, value]) => [name, late.includes(name) ? null : value])
        .filter(([name, value]) => value !== null || columns.get(name).default !== null);
      this.operation("create", change, { columns: values, zone: table === "members" ? after.zone : undefined });
      return [...steps, { table, id, before, step: { set, kind: "create", id, zone: after.zone, columns: after.columns } }];
    }
    const zone = after.zone === before.zone ? undefined : after.zone;
    const names = Object.keys(after.columns).filter((name) => after.columns[name] !== (before.columns[name] ?? null));
    // It went with the one above it.
    if (names.length === 0) return zone === undefined ? [] : [{ table, id, before, step: { set, kind: "moved", zone } }];
    const rev = knownRev(change);
    const { columns, base } = this.writeUpdate(change, names, rev, (name) => before.columns[name] ?? null);
    return [{ table, id, before, step: { set, kind: "update", rev, columns, base, zone } }];
  }

  /** An edit that did not know of the value before is sent as it was made: the server merges it, and logs what is lost. */
  writeUpdate(change, names, rev, baseOf) {
    const edits = names.map((name) => [name, change.unaware[name] ?? { base: baseOf(name), value: change.after.columns[name] ?? null }]);
    const columns = Object.fromEntries(edits.map(([name, { value }]) => [name, value]));
    const base = Object.fromEntries(edits.map(([name, { base }]) => [name, base]));
    this.operation("update", change, { rev, columns: Object.entries(columns), base: Object.entries(base) });
    return { columns, base };
  }

  /** Writes a deletion. @returns its step. */
  delete(change) {
    const { table, id, before } = change;
    const known = (this.draft.dirty(table, id)?.steps ?? []).filter(({ kind }) => kind === "update").map(({ rev }) => rev);
    this.operation("delete", change, { rev: Math.min(knownRev(change), ...known) });
    return { table, id, before, step: { set: this.set, kind: "delete" } };
  }
}
