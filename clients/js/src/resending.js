// Writing refused change sets again. docs/PROTOCOL.md, section 6.6; docs/SCHEMA-CHANGES.md, section 3.

import { combined } from "./merge.js";
import { isLacking, operationsOf, Quarantine } from "./quarantine.js";
import { numberKey } from "./state.js";
import { Transaction } from "./transaction.js";

/** Writes refused change sets again in a draft, each as a change set of its own, as it was. */
export class Resending {
  constructor(draft, schema, environment) {
    Object.assign(this, { draft, schema, environment });
    this.quarantine = new Quarantine(draft, schema);
  }

  /**
   * Writes a set and its dependents again.
   *
   * @param amend given the set's operations, may change their `columns`.
   * @param note called with what each set has changed.
   */
  resend(number, amend, note = () => {}) {
    const [first, ...others] = this.quarantine.take(number).map(({ body }) => operationsOf(body, this.schema));
    const operations = [amend ? this.quarantine.amended(first, amend) : first, ...others];
    // A person or another schema has decided: these are new change sets, without an origin.
    this.writeAll(operations.map((operations) => ({ operations })), note);
  }

  /**
   * Writes sets whose zone has moved, as the edits of the time when they were made. No person has seen what is here: the server merges them with what others
   * have written since, and logs what is lost.
   *
   * @param sets `{body, origin}`
   * @param note called with what each set has changed.
   */
  take(sets, note) {
    this.writeAll(sets.map(({ body, origin }) => ({ operations: operationsOf(body, this.schema), origin })), note, true);
  }

  writeAll(sets, note, isUnaware = false) {
    for (const { operations, origin } of sets) {
      const transaction = new Transaction(this.draft, this.schema, this.environment);
      if (isUnaware) transaction.backdate(operations);
      for (const operation of operations) {
        const here = this.draft.record(operation.table, operation.id);
        this.write(operation, transaction);
        if (isUnaware && here && operation.op === "update") this.noteUnaware(operation, here, transaction);
      }
      const key = numberKey(this.draft.device.nextKey);
      note(transaction.end());
      const sealed = this.draft.get("outbox", key);
      if (origin && sealed) this.draft.put("outbox", key, { ...sealed, origin });
    }
  }

  noteUnaware({ table, id, columns, base }, here, transaction) {
    const changed = Object.entries(columns).filter(([name]) => Object.hasOwn(base, name) && base[name] !== (here.columns[name] ?? null));
    transaction.noteUnaware(table, id, Object.fromEntries(changed.map(([name, value]) => [name, { base: base[name], value }])));
  }

  write({ op, table, id, columns, base, zone, unknown }, transaction) {
    const [lost] = Object.keys(unknown);
    if (lost !== undefined) throw new RangeError(`${table} has no column ${lost}. Leave the column out, update the app, or discard the change set.`);
    const here = this.draft.record(table, id);
    if (op === "delete") {
      if (here) transaction.delete(table, id);
      return;
    }
    const values = {};
    for (const [name, value] of Object.entries(columns)) {
      if (op === "create" && here && value === null) continue;
      const column = this.schema.table(table).columns.get(name);
      const merge = here && Object.hasOwn(base, name) ? combined(column.merge, base[name], value, here.columns[name] ?? null, true) : null;
      values[name] = merge ? merge.value : value;
    }
    if (here) return transaction.updateKept(table, id, values);
    if (op !== "create") throw new RangeError(`The record ${id} of ${table} does not exist. Discard the change set.`);
    return transaction.insertKept(table, id, values, zone);
  }

  // What the server did not know.

  /**
   * Writes again what the server did not know, oldest first, now that it has another schema. What can't be written, or whose records have gone on since,
   * or were deleted behind it, stays for a person.
   */
  resendUnknown() {
    const sets = this.quarantine.all();
    for (const { number } of sets.filter(({ problem, because }) => because === null && isLacking(problem))) {
      if (!this.isUntouched(sets.filter((set) => set.number === number || set.because === number))) continue;
      // What is wrong with one must not stop another.
      try {
        this.draft.attempt(() => this.resend(number));
      } catch {
        continue;
      }
    }
  }

  /**
   * Whether this app knows all that sets name, and the records are as they were before them. What was written since under a record that they delete can't
   * be told from what the person knew of.
   */
  isUntouched(sets) {
    const created = new Set();
    return !sets.some(({ isDeletedBehind }) => isDeletedBehind) && sets.flatMap(({ body }) => operationsOf(body, this.schema)).every((operation) => {
      const { op, table, id, columns, base, unknown } = operation;
      if (op === "delete" || !this.schema.tables.has(table) || Object.keys(unknown).length > 0) return false;
      const here = this.draft.record(table, id);
      const key = `${table}/${id}`;
      if (op === "create") created.add(key);
      if (created.has(key)) return !here;
      return here && Object.keys(columns).every((name) => {
        // A column that the server lost and has again is empty, whatever the edit was based on.
        const { absent } = this.schema.table(table).columns.get(name);
        return [base[name] ?? null, absent].includes(here.columns[name] ?? null);
      });
    });
  }
}
