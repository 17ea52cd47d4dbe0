// Records that a restored server has lost, and this device has. docs/RESTORING.md, section 4.

import { utf8Length } from "./bytes.js";
import { write } from "./json.js";
import { sealedOperation } from "./operations.js";
import { Quarantine } from "./quarantine.js";
import { numberKey } from "./state.js";
import { stampOf } from "./time.js";
import { toWire } from "./values.js";
import { Zones } from "./zones.js";

const countLimit = 500;
/** Deletions are remembered for 30 days, and at most so many. */
const rememberedTime = 30 * 86_400_000;
const rememberedCount = 10_000;
const ranks = { viewer: 1, editor: 2, owner: 3 };

/** The records of a draft that are to be uploaded. */
export class Recovery {
  constructor(draft, schema) {
    this.draft = draft;
    this.schema = schema;
  }

  /** Notes the server's copy of a record, when the user's role may write it. @param role in its zone. @returns whether it did. */
  note(table, record, role) {
    if ((ranks[role] ?? 0) < ranks[table.recoveryRole]) return false;
    // Parents come first, and conflicts behind the records that they are about.
    const depth = table.name === "conflicts" ? 400 : this.schema.depth(table.name);
    // Deletions come behind all records, children first.
    this.put(record.deleted ? 900 - depth : depth, { table: table.name, ...record });
    return true;
  }

  put(place, entry) {
    const { device } = this.draft;
    this.draft.put("recovered", `${String(place).padStart(3, "0")} ${numberKey(device.nextPage)}`, entry);
    this.draft.device = { ...device, nextPage: device.nextPage + 1 };
  }

  /**
   * Remembers deletions that the server has told: a restored server may not know them.
   *
   * @param deleted `{table, id, zone, rev}`
   * @param clocks the milliseconds of the device and of the server: one of them may be wrong for once, and must not end what is remembered.
   */
  remember(deleted, clocks) {
    const [earliest, latest] = [Math.min(...clocks), Math.max(...clocks)];
    for (const entry of deleted) {
      const key = `${entry.table}/${entry.id}`;
      // A restored server may tell an earlier one.
      if (!(this.draft.get("deleted", key)?.rev > entry.rev)) this.draft.put("deleted", key, { ...entry, at: latest });
    }
    const all = [...this.draft.entries("deleted")];
    const oldest = all.sort(([, left], [, right]) => left.at - right.at);
    oldest.forEach(([key, entry], index) => {
      if (entry.at < earliest - rememberedTime || index < oldest.length - rememberedCount) this.draft.delete("deleted", key);
      else if (entry.at > latest) this.draft.put("deleted", key, { ...entry, at: latest });
    });
  }

  /** The record lives, in another zone or again: its deletion is of the past. */
  forget(table, id, rev) {
    const entry = this.draft.get("deleted", `${table}/${id}`);
    if (entry && entry.rev <= rev) this.draft.delete("deleted", `${table}/${id}`);
  }

  /** Notes the deletions that a restored server does not know. @param roles by restored zone. @param isKnown of `{table, id, rev}` @returns them. */
  noteDeletions(roles, isKnown) {
    const noted = [];
    for (const [, { at: _, ...entry }] of [...this.draft.entries("deleted")]) {
      const table = this.schema.tables.get(entry.table);
      if (!table || !roles.has(entry.zone) || isKnown(entry)) continue;
      if (this.note(table, { ...entry, deleted: true }, roles.get(entry.zone))) noted.push(entry);
    }
    return noted;
  }

  isEmpty() {
    return this.draft.isEmpty("recovered");
  }

  /** What is noted, in order: `[key, entry]`. */
  sorted() {
    return [...this.draft.entries("recovered")].sort(([left], [right]) => (left < right ? -1 : 1));
  }

  /** The next records, `{key, text}`. */
  next(limit, sizeLimit) {
    const found = [];
    let size = 0;
    for (const [key, { table: name, id, zone, rev, columns, deleted }] of this.sorted()) {
      if (found.length >= Math.min(limit, countLimit) || size > sizeLimit) break;
      const table = this.schema.table(name);
      const values = Object.entries(columns ?? {}).map(([column, value]) => [column, toWire(table.columns.get(column), value)]);
      const text = write({ table: name, id, zone, rev, ...(deleted ? { deleted } : { columns: Object.fromEntries(values) }) });
      size += utf8Length(text);
      found.push({ key, text });
    }
    return found;
  }

  /**
   * The server has processed records of a request.
   *
   * @param keys of the records that it had, in order.
   * @param refused `{index, problem}`; these go to quarantine, and their zones come again, if they are not to be sent once more.
   * @returns how many went to quarantine.
   */
  settle(keys, refused, now) {
    let quarantined = 0;
    for (const { index, problem } of refused) {
      const entry = this.draft.get("recovered", keys[index]);
      if (!entry) continue;
      // What it lacks, or what has its unique value, may be in a later request: it is sent once more, with the others of the kind behind all records.
      if (!entry.isAgain && ["reference-missing", "unique-taken"].includes(problem.code)) {
        this.put(450, { ...entry, isAgain: true });
        continue;
      }
      new Zones(this.draft, this.schema).begin(entry.zone);
      const operation = this.operation(entry, now);
      if (operation === null) continue;
      new Quarantine(this.draft, this.schema).add(`[${operation}]`, 0, problem, now);
      quarantined += 1;
    }
    for (const key of keys) this.draft.delete("recovered", key);
    return quarantined;
  }

  /** The sealed operation that writes a noted record; null for one of the server's own. */
  operation({ table, id, zone, rev, columns, deleted }, now) {
    if (table === "conflicts") return null;
    return sealedOperation({
      op: deleted ? "delete" : "create", table: this.schema.table(table), id, rev, at: stampOf(now), columns: Object.entries(columns ?? {}),
      zone: table === "members" ? zone : undefined,
    });
  }
}
