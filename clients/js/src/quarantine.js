// Refused change sets. docs/PROTOCOL.md, section 6.6.

import { fingerprint } from "./bytes.js";
import { parse, plain } from "./json.js";
import { carriedKey, numberKey } from "./state.js";
import { fromApp, fromText, toApp } from "./values.js";

/**
 * The operations of a sealed change set, with the values of their columns in the kept form; those of columns that are not known here are in `unknown`. A null of
 * such a column says nothing, as to the server: a create may name all columns of the app of its time.
 */
export function operationsOf(body, schema) {
  const raw = parse(body, { isRaw: (path) => path.length === 3 && (path[1] === "columns" || path[1] === "base") });
  return raw.map((operation) => {
    const table = schema.called(operation.get("table"));
    const unknown = {};
    const values = (name) => {
      const members = {};
      for (const [column, value] of operation.get(name) ?? []) {
        const definition = table?.column(column);
        const isZone = table?.name === "members" && column === "zone";
        if (definition) members[definition.name] = fromText(definition, value.text);
        else if (name === "columns" && !isZone && value.text !== "null") unknown[column] = plain(parse(value.text));
      }
      return members;
    };
    const zone = operation.get("columns")?.get("zone");
    return {
      op: operation.get("op"), table: table?.name ?? operation.get("table"), id: operation.get("id"),
      rev: operation.get("rev") ?? 0, stamp: operation.get("at"),
      columns: values("columns"), base: values("base"), unknown,
      zone: table?.name === "members" && zone ? parse(zone.text) : null,
    };
  });
}

/** The quarantine of a draft. */
export class Quarantine {
  constructor(draft, schema) {
    this.draft = draft;
    this.schema = schema;
    /** By table and id: the set that was to create the record, or the one without which that could not be applied. Made when it is needed. */
    this.creators = null;
  }

  all() {
    return this.draft.sorted("quarantine");
  }

  /**
   * Adds a change set whose edits are rolled back.
   *
   * @param operation the index of the operation at fault; -1 when it is none in particular.
   * @param problem the problem document, as plain objects.
   * @param isDeletedBehind whether a later set deletes a record that it edits.
   * @param zones those of its records, of one whose zone has moved.
   * @param origin what copies of this device have in common with it of the set, should it be carried to another database.
   */
  add(body, operation, problem, now, { isDeletedBehind = false, zones, origin } = {}) {
    const isDependent = problem.code === "record-unknown" || problem.code === "reference-missing";
    const because = isDependent ? this.reason(operationsOf(body, this.schema)) : null;
    const { device } = this.draft;
    const number = device.nextQuarantine;
    const set = { number, at: now, operation, problem, body, because, isDeletedBehind, zones, origin };
    this.draft.put("quarantine", numberKey(number), set);
    if (this.creators) this.noteCreated(set);
    this.draft.device = { ...device, nextQuarantine: number + 1 };
  }

  /** Adds a set of the outbox that the server refused. If its zone has moved, that is why, whatever the server says: it may not know the records any more. */
  refuse({ body, moved, chain, origin }, operation, problem, now, isDeletedBehind) {
    const reason = moved ? { code: "zone-moved", status: 421, title: "The zone has moved to another database", zone: moved.zone, database: moved.database } : problem;
    // One that was carried here is not here any more, and is carried on from the quarantine.
    if (origin && reason.zone) this.draft.delete("local", carriedKey(origin));
    // The chain is that of all that the device has sent, which no other device has.
    this.add(body, operation, reason, now, { isDeletedBehind, zones: moved?.zones, origin: origin ?? fingerprint(`${this.draft.device.device} ${chain}`) });
  }

  /** The set that was to create what operations edit or refer to; null when there is none. */
  reason(operations) {
    if (!this.creators) {
      this.creators = new Map();
      for (const set of this.all()) this.noteCreated(set);
    }
    for (const { op, table, id, columns, zone } of operations) {
      const keys = op === "create" ? [] : [`${table}/${id}`];
      for (const link of this.schema.linksOf({ name: table })) keys.push(`${link.target}/${columns[link.column]}`);
      if (zone) for (const { name, rule } of this.schema.tables.values()) if (rule === "root") keys.push(`${name}/${zone}`);
      for (const key of keys) if (this.creators.has(key)) return this.creators.get(key);
    }
    return null;
  }

  noteCreated({ number, because, body }) {
    for (const { op, table, id } of operationsOf(body, this.schema)) if (op === "create") this.creators.set(`${table}/${id}`, because ?? number);
  }

  /** Takes a set and its dependents out. @returns them, the set first. */
  take(number) {
    const sets = this.all().filter((set) => set.number === number || set.because === number);
    if (!sets.some((set) => set.number === number)) throw new RangeError(`There is no change set ${number} in quarantine.`);
    for (const set of sets) this.draft.delete("quarantine", numberKey(set.number));
    return sets;
  }

  /** An operation with the values of an app. */
  shown({ rev: _, stamp: __, ...operation }) {
    const { columns } = this.schema.called(operation.table) ?? {};
    const values = (kept) => Object.fromEntries(Object.entries(kept).map(([name, value]) => [name, toApp(columns.get(name), value)]));
    return { ...operation, columns: { ...values(operation.columns), ...operation.unknown }, base: values(operation.base) };
  }

  /** Lets an app change the columns of operations. A column that it changes gets its value, whatever it had before. */
  amended(operations, amend) {
    const shown = operations.map((operation) => this.shown(operation));
    amend(shown);
    return operations.map((operation, index) => {
      const { columns } = this.schema.called(operation.table) ?? {};
      const own = { ...operation, columns: {}, base: { ...operation.base } };
      own.unknown = {};
      for (const [name, value] of Object.entries(shown[index].columns)) {
        if (!columns?.has(name)) {
          own.unknown[name] = value;
          continue;
        }
        const before = Object.hasOwn(operation.columns, name) ? operation.columns[name] : undefined;
        const kept = fromApp(columns.get(name), value, before);
        own.columns[name] = kept;
        if (kept !== before) delete own.base[name];
      }
      return own;
    });
  }
}

/** A problem document as plain objects; one of the status where the body is none. */
export function problemOf(body, status) {
  try {
    const problem = plain(parse(body));
    if (typeof problem.code === "string") return problem;
  } catch {
    // Of a proxy, perhaps.
  }
  return { code: status === 413 ? "body-too-large" : "invalid-request", status, title: `What answered with status ${status} is no Holdfast server. Does the network want you to sign in first?` };
}

/** Whether the server says that the session is over. Any other 401 is that of a proxy, or of a network that wants a person to sign in to it. */
export function endsSession({ status, body }) {
  return status === 401 && isProblem(body) && ["token-invalid", "token-missing"].includes(problemOf(body, status).code);
}

/** Whether a problem says that the server's schema lacks what was sent. Another schema may have it. */
export function isLacking({ code }) {
  return code === "unknown-table" || code === "unknown-column";
}

/** Whether a body is a problem document of the server. */
export function isProblem(body) {
  try {
    return typeof parse(body).get("code") === "string";
  } catch {
    return false;
  }
}

