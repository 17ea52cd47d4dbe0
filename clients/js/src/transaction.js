// A local transaction: writes of an app, which become one change set of the outbox. docs/PROTOCOL.md, section 6.1.

import { combined } from "./merge.js";
import { isPossibleIdentifier, isUUID, makeIdentifier } from "./identifiers.js";
import { write } from "./json.js";
import { positionRun, replicaName } from "./position.js";
import { Reader } from "./reading.js";
import { Sealing } from "./sealing.js";
import { checkValue, fromApp, fromText, ValueError } from "./values.js";
import { WriteError } from "./write-error.js";

function isChanged({ before, after }) {
  if (!before || !after) return before !== after;
  return Object.entries(after.columns).some(([name, value]) => value !== (before.columns[name] ?? null));
}

/** Reads and writes records. It is valid as long as the function runs to which it is given. */
export class Transaction extends Reader {
  /** @param environment `{now(), random64()}` */
  constructor(draft, schema, environment) {
    super(draft, schema);
    this.environment = environment;
    /** By table and id: the record before the transaction, or null, whether it was deleted in between, and the columns that a person saw otherwise. */
    this.touched = new Map();
    this.isEnded = false;
    /** Gives the `{rev, stamp}` of an edit that was made before, by table and id: see `backdate`. */
    this.originOf = () => null;
  }

  /** Lets the edits be as old as operations that were made before, and know of no more than these: of what else they change, nothing. */
  backdate(operations) {
    const [{ stamp }] = operations;
    const origins = new Map([...operations].reverse().map(({ table, id, rev, stamp }) => [`${table}/${id}`, { rev, stamp }]));
    this.originOf = (key) => origins.get(key) ?? { rev: 0, stamp };
  }

  // Writing.

  /** Creates a record; without an `id` it makes one. @returns the id. */
  insert(table, values) {
    const { id, zone, rev: _, ...columns } = values;
    return this.insertKept(table, id ?? this.makeIdentifier(), this.kept(table, columns), zone ?? null);
  }

  /**
   * Changes columns of a record.
   *
   * @param base by column, what the person saw before: where the record has another value by now, the edit is one that did not know of it. Both are in if
   *   the column's policy combines edits, and what is lost is logged.
   */
  update(table, id, values, base = {}) {
    const record = this.draft.record(table, id);
    const kept = this.kept(table, values, record);
    const unaware = {};
    for (const [name, seen] of Object.entries(this.kept(table, base, record))) {
      if (!record || !Object.hasOwn(kept, name)) continue;
      // The person has changed nothing.
      if (kept[name] === seen) {
        delete kept[name];
        continue;
      }
      const now = record.columns[name] ?? null;
      const merge = combined(this.schema.table(table).columns.get(name).merge, seen, kept[name], now, true);
      if (seen !== now) unaware[name] = { base: seen, value: kept[name] };
      if (merge) kept[name] = merge.value;
    }
    this.check(this.schema.table(table), Object.fromEntries(Object.entries(unaware).map(([name, { value }]) => [name, value])));
    this.updateKept(table, id, kept);
    this.noteUnaware(table, id, unaware);
  }

  /** @param unaware by column, the base and the value of an edit that did not know of the value that is here. */
  noteUnaware(table, id, unaware) {
    const touched = this.touch(table, id);
    // A new record is sent as it is at the end.
    if (touched.before) Object.assign(touched.unaware, unaware);
  }

  /** Deletes a record, and what is below it as its references say. */
  delete(table, id) {
    this.mayWrite(table);
    if (!this.draft.record(table, id)) throw new WriteError("record-unknown", `There is no record ${id} in ${table}.`);
    // No recursion: chains may be as long as the change set.
    for (const stack = [{ table, id }]; stack.length > 0;) {
      const { table, id, touched } = stack.pop();
      if (touched) {
        // Behind those that it takes along.
        this.touched.delete(`${table}/${id}`);
        this.touched.set(`${table}/${id}`, touched);
      } else if (this.draft.record(table, id)) {
        stack.push({ table, id, touched: this.touch(table, id) }, ...this.deleteOne(table, id));
      }
    }
  }

  /** Deletes a record, and lets go of what may stay. @returns those that it takes along. */
  deleteOne(table, id) {
    this.touch(table, id).isDeleted = true;
    this.draft.deleteRecord(table, id);
    const below = [];
    for (const link of this.schema.linksTo({ name: table }).filter((link) => link.isInZone)) {
      // Whether it is in the way shows at the end: it may be deleted or moved by then.
      if (link.onDelete === "restrict") continue;
      for (const child of this.draft.referring(link, id)) {
        if (link.onDelete === "set_null" && !link.required) this.updateKept(link.table, child.id, { [link.column]: null });
        else below.push({ table: link.table, id: child.id });
      }
    }
    return below;
  }

  /** Adds to a counter. */
  increment(table, id, column, amount = 1) {
    const now = this.draft.record(table, id)?.columns[column] ?? 0;
    this.update(table, id, { [column]: BigInt(now) + BigInt(amount) });
  }

  /**
   * Moves records to a place in a list, beside each other in the order given.
   *
   * @param place `"first"`, `"last"`, `{before: id}` or `{after: id}`.
   * @param parent the list to which they go; the one that all of them are in unless given.
   */
  move(table, ids, place, { parent, position = "position" } = {}) {
    const column = this.schema.table(table).listColumn(position);
    if (new Set(ids).size < ids.length) throw new WriteError("invalid-value", `A record of ${table} is named twice.`);
    const lists = new Set(ids.map((id) => this.draft.record(table, id)?.columns[column] ?? null));
    if (!parent && lists.size > 1) throw new WriteError("invalid-value", `The records of ${table} are in several lists: say to which they go.`);
    const [list] = parent ? [parent] : lists;
    const positions = this.positions(table, ids.length, place, { parent: list, position, without: new Set(ids) });
    ids.forEach((id, index) => this.update(table, id, { [position]: positions[index], ...(column && parent ? { [column]: parent } : {}) }));
  }

  /** Positions for records that are to be at a place of a list: see `move`. */
  positions(table, count, place, { parent = null, position = "position", without = new Set() } = {}) {
    const rows = this.list(table, parent, position).filter((record) => !without.has(record.id) && record[position] !== null);
    const index = place === "first" ? 0 : place === "last" ? rows.length : this.placeOf(rows, place);
    const at = (index) => rows[index]?.[position] ?? null;
    let [left, right] = [at(index - 1), at(index)];
    // Beside several records that have one position: beside all of them.
    if (left !== null && left === right) {
      if (place.before) left = rows.filter((row) => row[position] < right).at(-1)?.[position] ?? null;
      else right = rows.find((row) => row[position] > left)?.[position] ?? null;
    }
    let { device } = this.draft;
    if (!device.replica) this.draft.device = device = { ...device, replica: replicaName(this.environment.random64()) };
    return positionRun(count, left, right, device.replica, this.environment.random64());
  }

  placeOf(rows, { before, after }) {
    const index = rows.findIndex((row) => row.id === (before ?? after));
    if (index < 0) throw new WriteError("record-unknown", `The record ${before ?? after} is not in the list.`);
    return before ? index : index + 1;
  }

  /**
   * Closes a conflict: writes the value that is right, and says which it was. Of a deletion, `"loser"` brings the record back. `"winner"` needs neither
   * the record nor its column.
   *
   * @param choice `"winner"`, `"loser"` or `{value}`.
   */
  resolve(id, choice) {
    const conflict = this.draft.record("conflicts", id)?.columns;
    if (!conflict) throw new WriteError("record-unknown", `There is no conflict ${id}.`);
    const { record_table: table, record_id: record, column_name: column, policy } = conflict;
    if (conflict.resolution) throw new WriteError("conflict-resolved", "The conflict is resolved already. Edit the record to change the outcome.");
    const isKnown = this.schema.tables.get(table)?.columns.has(column) ?? false;
    const isHere = isKnown && Boolean(this.draft.record(table, record));
    if (isHere) {
      if (choice === "loser") this.updateKept(table, record, { [column]: this.logged(table, column, conflict.loser_value) });
      else if (choice !== "winner") this.update(table, record, { [column]: choice.value });
      else if (policy !== "delete" && conflict.winner_at !== null) this.updateKept(table, record, { [column]: this.logged(table, column, conflict.winner_value) });
    } else if (choice !== "winner") {
      if (!isKnown) throw new WriteError("unknown-column", `This app's schema has no ${table}.${column}. Update the app.`);
      if (policy !== "delete") throw new WriteError("record-unknown", `The record ${record} of ${table} is not on this device any more. Keep the winner to close the conflict.`);
      if (choice === "loser") return this.bringBack(table, record);
      throw new WriteError("record-unknown", "The record was deleted. Take the loser to bring it back, or the winner to leave it.");
    }
    return this.update("conflicts", id, { resolution: typeof choice === "string" ? choice : "other" });
  }

  /** A value of the log of conflicts in the kept form. */
  logged(table, name, text) {
    return text === null ? null : fromText(this.schema.table(table).columns.get(name), text);
  }

  /**
   * Makes a deleted record again, with all that the log has of it. The log names the zone, and with it the parent that is its root; a place in a list is
   * made at its end.
   */
  bringBack(table, record) {
    const definition = this.schema.table(table);
    const { columns, parentColumn } = definition;
    const log = this.all("conflicts", { where: { policy: "delete", record_table: table, record_id: record } }).map(({ id }) => this.draft.record("conflicts", id));
    const known = log.map((conflict) => conflict.columns).filter(({ column_name: name }) => columns.has(name));
    const values = new Map(known.map(({ column_name: name, loser_value: text }) => [name, this.logged(table, name, text)]));
    const parent = columns.get(parentColumn)?.to;
    if (parent && !values.has(parentColumn) && this.schema.table(parent).rule === "root") values.set(parentColumn, log[0].zone);
    const missing = [...columns.values()].filter(({ name, required, default: usual }) => required && usual === null && (values.get(name) ?? null) === null);
    for (const { name } of missing.filter(({ type }) => type === "position")) {
      values.set(name, this.positions(table, 1, "last", { parent: values.get(definition.listColumn(name)) ?? null, position: name })[0]);
    }
    const lacking = missing.filter(({ type }) => type !== "position").map(({ name }) => name);
    if (lacking.length > 0) {
      throw new WriteError("value-missing", `The log does not have the ${lacking.join(", ")} of the deleted record, which ${table} must have. Write the record again, with a value for it.`);
    }
    this.insertKept(table, record, Object.fromEntries(values), log[0].zone);
    for (const { id, columns: { resolution } } of log) if (!resolution) this.update("conflicts", id, { resolution: "loser" });
  }

  // In the kept form.

  insertKept(name, id, values, zone = null) {
    const table = this.mayWrite(name);
    if (table.name === "conflicts") throw new WriteError("read-only-table", "Only the server makes conflicts.");
    if (!isUUID(id)) throw new WriteError("invalid-id", "An id is a lower-case UUID. Leave it out to have one made.");
    if (this.draft.record(name, id)) throw new WriteError("record-exists", `A record with the id ${id} already exists.`);
    const columns = {};
    for (const column of table.columns.values()) {
      const value = Object.hasOwn(values, column.name) ? values[column.name] : column.default;
      columns[column.name] = value ?? (column.required ? column.default : null);
    }
    this.check(table, columns);
    if (table.name === "members" && zone === null) throw new WriteError("value-missing", "A new member needs the zone.");
    if (zone !== null && !isPossibleIdentifier(zone)) throw new WriteError("invalid-id", "The name of a zone is a text of 1 to 64 bytes.");
    const touched = this.touch(name, id);
    const { before } = touched;
    touched.unaware = {};
    // A record that this transaction has deleted is the same one again, with other values.
    const isAgain = before && table.name !== "members";
    this.draft.putRecord(name, isAgain ? { ...before, columns } : { id, zone, rev: 0, columns });
    return id;
  }

  updateKept(name, id, values) {
    const table = this.mayWrite(name);
    const record = this.draft.record(name, id);
    if (!record) throw new WriteError("record-unknown", `There is no record ${id} in ${name}.`);
    if (name === "conflicts" && Object.keys(values).some((column) => column !== "resolution")) {
      throw new WriteError("read-only-table", "Only the resolution of a conflict can be written.");
    }
    this.check(table, values);
    const { unaware } = this.touch(name, id);
    for (const column of Object.keys(values)) delete unaware[column];
    this.draft.putRecord(name, { ...record, columns: { ...record.columns, ...values } });
  }

  /** Values of an app in the kept form. @param record the one that they change, if any. */
  kept(name, values, record) {
    const table = this.schema.table(name);
    return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined).map(([column, value]) => {
      const definition = table.columns.get(column);
      if (!definition) throw new WriteError("unknown-column", `${name} has no column ${column}.`);
      return [column, fromApp(definition, value, record?.columns[column])];
    }));
  }

  check(table, values) {
    for (const [column, value] of Object.entries(values)) {
      try {
        checkValue(table.columns.get(column), value);
      } catch (error) {
        if (error instanceof ValueError) throw new WriteError(error.code, `${table.name}: ${error.message}`);
        throw error;
      }
    }
  }

  mayWrite(name) {
    if (this.isEnded) throw new TypeError("The transaction has ended. Write inside the function that write() calls.");
    return this.schema.table(name);
  }

  touch(table, id) {
    const key = `${table}/${id}`;
    if (!this.touched.has(key)) {
      this.touched.set(key, { table, id, before: this.draft.record(table, id) ?? null, isDeleted: false, unaware: {} });
    }
    return this.touched.get(key);
  }

  makeIdentifier() {
    return makeIdentifier(this.environment.now(), [this.environment.random64(), this.environment.random64()]);
  }

  // The end.

  /**
   * Checks the rules of the schema and seals the change set.
   *
   * @returns the records that are others than before, `{table, id, before, after}`.
   */
  end() {
    this.isEnded = true;
    const touched = [...this.touched].map(([key, touched]) => ({ ...touched, origin: this.originOf(key), after: this.draft.record(touched.table, touched.id) ?? null }));
    // A move takes along what is below, which is then looked at as well.
    for (const { table, after } of touched) if (after) this.settleZone(table, after.id);
    const all = touched.map((touched) => ({ ...touched, after: this.draft.record(touched.table, touched.id) ?? null }));
    this.checkReferences(all);
    this.checkDeleted(all);
    this.checkUnique(all);
    new Sealing(this.draft, this.schema, this.environment.now()).seal(all, this.moved ?? []);
    return all.filter(isChanged);
  }

  /** The zone of a record, as its table's rule says. */
  zoneOf(table, record, depth = 0) {
    switch (table.rule) {
      case "root": return record.id;
      case "user": return record.zone ?? this.draft.device.user;
      case "public": return table.publicZone;
      case "parent": {
        const link = this.schema.linksOf(table).find(({ column }) => column === table.parentColumn);
        const parent = link && this.draft.record(link.target, record.columns[link.column]);
        if (!parent || depth > 1000) return record.zone;
        return this.zoneOf(this.schema.table(link.target), parent, depth + 1);
      }
      default: return record.zone;
    }
  }

  settleZone(name, id) {
    const record = this.draft.record(name, id);
    const zone = this.zoneOf(this.schema.table(name), record);
    if (zone === record.zone) return;
    this.draft.putRecord(name, { ...record, zone });
    // What refers to a new record was written by this transaction too, and is looked at itself.
    if (this.touched.get(`${name}/${id}`)?.before === null) return;
    for (const link of this.schema.linksTo({ name })) {
      if (this.schema.table(link.table).parentColumn !== link.column) continue;
      for (const child of this.draft.referring(link, id)) {
        if (child.zone === zone) continue;
        const key = `${link.table}/${child.id}`;
        if (!this.touched.has(key)) this.moved = [...(this.moved ?? []), { table: link.table, id: child.id, by: `${name}/${id}`, record: child }];
        this.settleZone(link.table, child.id);
      }
    }
  }

  checkReferences(touched) {
    for (const { table, id, before, after } of touched) {
      if (!after) continue;
      for (const link of this.schema.linksOf({ name: table }).filter((link) => link.isInZone)) {
        const target = after.columns[link.column] ?? null;
        if (target === null || (before && before.columns[link.column] === target)) continue;
        if (!this.draft.record(link.target, target)) {
          throw new WriteError("reference-missing", `${table}.${link.column} of ${id} names no record of ${link.target}.`);
        }
      }
    }
  }

  /** No record refers to one that is deleted. */
  checkDeleted(touched) {
    const deleted = new Set(touched.filter(({ before, after }) => before && !after).map(({ table, id }) => `${table}/${id}`));
    if (deleted.size === 0) return;
    const tables = new Set(touched.map(({ table }) => table));
    for (const { table, column, target, onDelete } of this.schema.links.filter((link) => link.isInZone && tables.has(link.target))) {
      for (const record of this.draft.records(table)) {
        if (!deleted.has(`${target}/${record.columns[column]}`)) continue;
        if (onDelete === "restrict") throw new WriteError("reference-restricted", `Records of ${table} still refer to ${record.columns[column]}. Delete them first.`);
        throw new WriteError("reference-missing", `${table}.${column} of ${record.id} names no record of ${target}.`);
      }
    }
  }

  checkUnique(touched) {
    const written = new Map();
    for (const { table, after } of touched) {
      if (!after) continue;
      if (!written.has(table)) written.set(table, []);
      written.get(table).push(after);
    }
    for (const [table, records] of written) for (const columns of this.schema.table(table).unique) this.checkTaken(table, columns, records);
  }

  /** No other record of a zone has the values of one that was written. */
  checkTaken(table, columns, written) {
    const keyOf = (record) => {
      const values = columns.map((column) => record.columns[column] ?? null);
      if (values.includes(null)) return undefined;
      return columns.length === 1 ? values[0] : write(values);
    };
    const owners = new Map(written.map(({ zone }) => [zone, new Map()]));
    for (const record of written) owners.get(record.zone).set(keyOf(record), record.id);
    for (const record of this.draft.records(table)) {
      const key = owners.has(record.zone) ? keyOf(record) : undefined;
      if (key === undefined || (owners.get(record.zone).get(key) ?? record.id) === record.id) continue;
      throw new WriteError("unique-taken", `Another record of ${table} has this ${columns.join(", ")}.`, { written: `${table}/${owners.get(record.zone).get(key)}` });
    }
  }
}
