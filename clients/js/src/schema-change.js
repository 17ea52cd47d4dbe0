// Brings what a device keeps to another schema of its app, in the transaction of the opening. Pure. docs/SCHEMA-CHANGES.md, sections 2 to 4.
//
// A column that has values of another type than its own was removed, and is new: the device may have skipped the version between.
//
// Names that are not in the schema are those of before: former names of what is in it, or names of what was removed. Change sets that are sealed
// stay as they are.

import { isOfType } from "./values.js";

/**
 * Renames what has former names, and drops what belongs to removed tables and columns.
 *
 * @returns whether columns are new, of which old records may have values.
 */
export function changeSchema(draft, schema) {
  new SchemaChange(draft, schema).run();
  // Stores of earlier clients do not say which they have.
  const hasNew = schema.hasNewColumns(draft.get("local", "columns") ?? []);
  draft.put("local", "columns", schema.columnForms());
  return hasNew;
}

class SchemaChange {
  constructor(draft, schema) {
    Object.assign(this, { draft, schema, isRewritten: false });
  }

  run() {
    for (const name of this.draft.storeNames()) if (name.startsWith("records/")) this.changeRecords(name.slice(8));
    this.changeConflicts();
    this.changeEntries("dirty", (table, dirty) => ({
      ...dirty, server: dirty.server && this.record(table, dirty.server), steps: dirty.steps.map((step) => this.step(table, step)),
    }));
    this.changeEntries("deleted", (table, deleted) => deleted);
    this.changeEntries("recovered", (table, record) => (record.deleted ? record : { ...record, columns: this.named(table, record.columns) }));
    // What it can undo is told by the names of before.
    if (this.isRewritten) for (const [key] of [...this.draft.entries("undo")]) this.draft.delete("undo", key);
  }

  /** The table of a name of before; undefined when it was removed. */
  table(name) {
    const table = this.schema.called(name);
    if (table?.name !== name) this.isRewritten = true;
    return table;
  }

  changeRecords(name) {
    const table = this.table(name);
    for (const record of [...this.draft.records(name)]) {
      const changed = table && this.record(table, record);
      if (table?.name === name) {
        if (changed !== record) this.draft.putRecord(name, changed);
        continue;
      }
      this.draft.deleteRecord(name, record.id);
      if (table && !this.draft.record(table.name, record.id)) this.draft.putRecord(table.name, changed);
    }
  }

  /** Takes the entries of a store, each of a record, to the names of now. */
  changeEntries(store, changed) {
    for (const [key, entry] of [...this.draft.entries(store)]) {
      const table = this.table(entry.table);
      if (!table) {
        this.draft.delete(store, key);
        continue;
      }
      const ownKey = key === `${entry.table}/${entry.id}` ? `${table.name}/${entry.id}` : key;
      if (ownKey !== key) this.draft.delete(store, key);
      if (ownKey === key || !this.draft.get(store, ownKey)) this.draft.put(store, ownKey, { ...changed(table, entry), table: table.name });
    }
  }

  changeConflicts() {
    for (const record of [...this.draft.records("conflicts")]) {
      const table = this.schema.called(record.columns.record_table);
      if (!table) continue;
      const column = table.column(record.columns.column_name)?.name ?? record.columns.column_name;
      this.draft.putRecord("conflicts", { ...record, columns: { ...record.columns, record_table: table.name, column_name: column } });
    }
  }

  /** A record with all columns of its table: one that is new has its default. */
  record(table, record) {
    const values = Object.entries(record.columns);
    const isOwn = ([name, value]) => table.columns.has(name) && isOfType(table.columns.get(name), value);
    if (values.length === table.columns.size && values.every(isOwn)) return record;
    const columns = this.named(table, record.columns);
    for (const column of table.columns.values()) if (!Object.hasOwn(columns, column.name)) columns[column.name] = column.absent;
    return { ...record, columns };
  }

  step(table, step) {
    if (step.kind === "create") return this.record(table, step);
    const { columns, base } = step;
    return { ...step, ...(columns && { columns: this.named(table, columns) }), ...(base && { base: this.named(table, base) }) };
  }

  /** Values by the names of now, without those of removed columns and of another type. */
  named(table, values) {
    const named = {};
    for (const [name, value] of Object.entries(values)) {
      const column = table.column(name);
      const isKept = column && isOfType(column, value);
      if (!isKept || column.name !== name) this.isRewritten = true;
      if (isKept && (column.name === name || !Object.hasOwn(values, column.name))) named[column.name] = value;
    }
    return named;
  }
}
