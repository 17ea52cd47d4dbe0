// The schema: tables, columns, references and zones, read of holdfast.json. Pure. docs/PROTOCOL.md, section 1.

import { fingerprint } from "./bytes.js";
import { parse, plain, write } from "./json.js";
import { timestamp } from "./time.js";
import { fromWire } from "./values.js";

const members = {
  zone: null,
  columns: {
    user: { type: "text", max_length: 64 }, name: { type: "text", max_length: 64 },
    role: { type: "text", required: true, one_of: ["viewer", "editor", "owner"] },
    group: { type: "text", max_length: 64 }, invited_by: { type: "text", max_length: 64 },
  },
  unique: [["user"], ["group"]],
};

const conflicts = {
  zone: null,
  columns: Object.fromEntries([
    ...["record_table", "record_id", "column_name", "policy"].map((name) => [name, { type: "text", required: true }]),
    ...["base", "winner_value", "loser_value"].map((name) => [name, { type: "json" }]),
    ["winner_user", { type: "text" }], ["winner_device", { type: "text" }], ["winner_at", { type: "timestamp" }],
    ["loser_user", { type: "text" }], ["loser_device", { type: "text" }], ["loser_at", { type: "timestamp" }],
    ["resolution", { type: "text", one_of: ["winner", "loser", "other"] }],
    ["resolved_by", { type: "text" }], ["resolved_at", { type: "timestamp" }],
  ]),
};

function readColumn(name, form) {
  const column = {
    name, type: form.type, required: form.required === true, maximumLength: form.max_length, minimum: form.min,
    maximum: form.max, oneOf: form.one_of ?? [], merge: form.merge ?? "latest", to: form.to, onDelete: form.on_delete,
    across: form.across === true, within: form.within, was: form.was ?? [],
  };
  column.default = form.default === undefined ? null : fromWire(column, form.default);
  column.absent = column.default === null && column.required ? emptiest(column.type) : column.default;
  return column;
}

/** What a required column without a default has where the server's schema lacks it. A record whose reference is empty has no parent, and is left out. */
function emptiest(type) {
  switch (type) {
    case "integer": case "real": return 0;
    case "boolean": return false;
    case "timestamp": return timestamp(0);
    case "json": return null;
    default: return "";
  }
}

function formOf(table, name, { type, required, to = "" }) {
  return `${table} ${name} ${type} ${to} ${required}`;
}

/** The greatest of some roles. */
export function greatestRole(roles) {
  return ["owner", "editor", "viewer"].find((role) => roles.includes(role)) ?? "viewer";
}

class Table {
  constructor(name, form) {
    this.name = name;
    const rule = form.zone;
    this.rule = rule === "root" || rule === "user" ? rule : rule?.parent ? "parent" : rule?.public ? "public" : "built-in";
    this.parentColumn = rule?.parent;
    this.publicZone = rule?.public;
    this.columns = new Map(Object.entries(form.columns ?? {}).map(([column, form]) => [column, readColumn(column, form)]));
    this.unique = form.unique ?? [];
    const { create = "editor", update = "editor" } = form.roles ?? {};
    /** The role with which a user may write all of a record. */
    this.recoveryRole = name === "members" ? "owner" : greatestRole([create, update]);
    this.was = form.was ?? [];
    /** Former names of columns, by which a server of an older schema may send them. */
    this.former = new Map([...this.columns.values()].flatMap((column) => column.was.map((was) => [was, column])));
  }

  /** The column that has a name, or had it before. */
  column(name) {
    return this.columns.get(name) ?? this.former.get(name);
  }

  /** The reference column whose records form one list in the order of a position column; null where each zone is one list. */
  listColumn(position) {
    return this.columns.get(position)?.within ?? this.parentColumn ?? null;
  }
}

/** A schema. `new Schema(json)` takes the content of holdfast.json, as a text or an object. */
export class Schema {
  constructor(json) {
    const text = typeof json === "string" ? json : JSON.stringify(json);
    const form = plain(parse(text));
    if (form.holdfast !== 1 || typeof form.tables !== "object") {
      throw new TypeError('A schema has "holdfast": 1 and "tables". Take the file that the server serves at /v1/schema.');
    }
    this.name = form.name;
    this.version = form.version ?? 0;
    /** What the server is told of the schema. */
    this.fingerprint = fingerprint(write(parse(text)));
    this.tables = new Map();
    for (const [name, table] of Object.entries(form.tables)) this.tables.set(name, new Table(name, table));
    this.tables.set("members", new Table("members", members));
    this.tables.set("conflicts", new Table("conflicts", conflicts));
    this.former = new Map([...this.tables.values()].flatMap((table) => table.was.map((was) => [was, table])));
    this.publicZones = new Set([...this.tables.values()].map((table) => table.publicZone).filter(Boolean));
    this.links = this.readLinks();
  }

  /** The table of a name. @throws TypeError when there is none. */
  table(name) {
    const table = this.tables.get(name);
    if (!table) throw new TypeError(`The schema has no table ${name}.`);
    return table;
  }

  /** The table that has a name, or had it before. */
  called(name) {
    return this.tables.get(name) ?? this.former.get(name);
  }

  linksOf(table) {
    return this.links.filter((link) => link.table === table.name);
  }

  linksTo(table) {
    return this.links.filter((link) => link.target === table.name);
  }

  /** The columns of all tables, each with what decides which values it may have. A column of another form was removed, and is new. */
  columnForms() {
    return [...this.tables.values()].flatMap((table) => [...table.columns.values()].map((column) => formOf(table.name, column.name, column)));
  }

  /** Whether a schema of these columns lacks one of this schema's, whatever its name was. */
  hasNewColumns(forms) {
    const known = new Set(forms);
    return [...this.tables.values()].some((table) => [...table.columns.values()].some((column) => ![table.name, ...table.was].some((name) => (
      [column.name, ...column.was].some((own) => known.has(formOf(name, own, column)))))));
  }

  /** What decides a table's zone in the end; two tables of one ground refer to each other inside a zone. */
  ground(name) {
    let table = this.tables.get(name);
    for (let count = 0; count <= this.tables.size && table?.rule === "parent"; count++) {
      table = this.tables.get(table.columns.get(table.parentColumn)?.to);
    }
    if (table?.rule === "root") return `root ${table.name}`;
    return `${table?.rule} ${table?.publicZone ?? ""}`;
  }

  /** How many references inside a zone lead up from a table; those of a table to itself do not count. */
  depth(name, seen = new Set()) {
    if (seen.has(name)) return 0;
    const above = new Set(seen).add(name);
    const depths = this.links.filter((link) => link.isInZone && link.table === name && link.target !== name).map((link) => this.depth(link.target, above) + 1);
    return Math.max(name === "members" ? 1 : 0, ...depths);
  }

  readLinks() {
    const links = [];
    for (const table of this.tables.values()) {
      for (const column of table.columns.values()) {
        if (!column.to) continue;
        const isInZone = !column.across && this.ground(table.name) === this.ground(column.to);
        const onDelete = column.onDelete ?? (isInZone ? "restrict" : column.required ? "cascade" : "set_null");
        links.push({ table: table.name, column: column.name, required: column.required, target: column.to, onDelete, isInZone });
      }
    }
    return links;
  }
}
