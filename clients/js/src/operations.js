// The bytes of operations and change sets. Pure. docs/PROTOCOL.md, section 3.

import { Raw, write } from "./json.js";
import { toWire } from "./values.js";

function columnsOf(table, values) {
  return new Map([...values].map(([name, value]) => [name, toWire(table.columns.get(name), value)]));
}

/**
 * One operation as it is sealed.
 *
 * @param operation `{op, table, id, rev, at, columns, base, zone}`: columns and base are maps of values in the kept form; zone is that of a new member.
 */
export function sealedOperation({ op, table, id, rev, at, columns, base, zone }) {
  const members = new Map([["op", op], ["table", table.name], ["id", id]]);
  if (op !== "create") members.set("rev", rev);
  members.set("at", at);
  if (op !== "delete") {
    const own = columnsOf(table, columns);
    members.set("columns", zone ? new Map([["zone", zone], ...own]) : own);
  }
  if (op === "update") members.set("base", columnsOf(table, base));
  return write(members);
}

/** The body of a sync request. Change sets go into it exactly as they were sealed. */
export function requestBody(members, changeSets) {
  const body = new Map(Object.entries(members).filter(([, value]) => value !== undefined));
  if (changeSets.length > 0) body.set("change_sets", new Raw(`[${changeSets.join(",")}]`));
  return write(body);
}
