// Reading records: what apps see of a state or a draft.

import { fromApp, fromText, toApp } from "./values.js";
import { compareBytes } from "./bytes.js";

/** Orders values of a column: null first, then as SQLite orders them. */
function compare(left, right) {
  if (left === right) return 0;
  if (left === null) return -1;
  if (right === null) return 1;
  if (typeof left === "string" && typeof right === "string") return compareBytes(left, right);
  return left < right ? -1 : 1;
}

/** What every record has beside its columns. */
const ownNames = new Set(["id", "zone", "rev"]);

function valueOf(record, name) {
  return ownNames.has(name) ? record[name] : record.columns[name] ?? null;
}

/** Reads records of a draft. What it gives is the caller's own. */
export class Reader {
  constructor(draft, schema) {
    this.draft = draft;
    this.schema = schema;
  }

  /** A record as `{id, zone, rev, …columns}`; undefined when it is not here. */
  get(table, id) {
    const record = this.draft.record(this.schema.table(table).name, id);
    return record && this.shown(table, record);
  }

  /**
   * The records of a table.
   *
   * @param where values that columns must have; `id`, `zone` and `rev` too.
   * @param order names of columns, or of these; ids decide between equal ones.
   * @throws TypeError for a name that the table does not have.
   */
  all(table, { where = {}, order = [] } = {}) {
    const conditions = Object.entries(where).map(([name, value]) => this.condition(table, name, value));
    for (const name of order) this.checkName(table, name);
    const found = [...this.draft.records(this.schema.table(table).name)].filter((record) => conditions.every((isMet) => isMet(record)));
    found.sort((left, right) => {
      for (const name of order) {
        const order = compare(valueOf(left, name), valueOf(right, name));
        if (order !== 0) return order;
      }
      return compareBytes(left.id, right.id);
    });
    return found.map((record) => this.shown(table, record));
  }

  checkName(table, name) {
    if (!ownNames.has(name) && !this.schema.table(table).columns.has(name)) throw new TypeError(`The table ${table} has no column ${name}.`);
  }

  /** Whether a record has a value of an app; undefined is none. */
  condition(table, name, value) {
    this.checkName(table, name);
    const column = this.schema.table(table).columns.get(name);
    if (!column || value === undefined) return (record) => valueOf(record, name) === value;
    if (column.type === "json") return (record) => fromApp(column, value, valueOf(record, name)) === valueOf(record, name);
    const kept = fromApp(column, value);
    return (record) => valueOf(record, name) === kept;
  }

  /** The records of an ordered list. @param parent the record that they refer to, or null. */
  list(table, parent, position = "position") {
    const column = this.schema.table(table).listColumn(position);
    return this.all(table, { where: column ? { [column]: parent } : {}, order: [position] });
  }

  /** The columns of a record that are changed here and not confirmed; all where it was created here. */
  unsent(table, id) {
    const { steps = [] } = this.draft.dirty(table, id) ?? {};
    const names = new Set();
    for (const step of steps) if (step.kind === "create" || step.kind === "update") Object.keys(step.columns).forEach((name) => names.add(name));
    return [...names];
  }

  shown(table, record) {
    const shown = { id: record.id, zone: record.zone, rev: record.rev };
    // The values of the log are those of a column, and not JSON as such: an integer has all of its digits.
    const logged = table === "conflicts" ? this.schema.tables.get(record.columns.record_table)?.columns.get(record.columns.column_name) : undefined;
    for (const column of this.schema.table(table).columns.values()) {
      const value = record.columns[column.name] ?? null;
      shown[column.name] = logged && column.type === "json" && value !== null ? toApp(logged, fromText(logged, value)) : toApp(column, value);
    }
    return shown;
  }
}
