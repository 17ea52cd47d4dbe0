// Undoing this device's own transactions, on top of whatever has happened since. docs/UNDO.md.

import { combined } from "./merge.js";
import { numberKey } from "./state.js";
import { WriteError } from "./write-error.js";

/** How many transactions are kept. */
const longest = 100;
/** A transaction of more characters is not kept. */
const largest = 1 << 20;
/** So many characters are kept of all. */
const largestOfAll = 4 << 20;

/** Remembers what a transaction changed, which has just been sealed. @param kind `undo` or `redo`. */
export function remember(draft, changes, kind = "undo") {
  const own = changes.filter(({ table }) => table !== "conflicts");
  const size = JSON.stringify(own, (_, value) => (typeof value === "bigint" ? String(value) : value)).length;
  if (own.length === 0 || size > largest) return;
  const { device } = draft;
  draft.put("undo", numberKey(device.nextUndo), { kind, set: device.nextKey - 1, size, changes: own });
  draft.device = { ...device, nextUndo: device.nextUndo + 1 };
  let total = 0;
  newestFirst(draft).forEach(([key, { size = 0 }], index) => {
    total += size;
    if (index >= longest || total > largestOfAll) draft.delete("undo", key);
  });
}

function newestFirst(draft) {
  return [...draft.entries("undo")].sort(([left], [right]) => (left < right ? 1 : -1));
}

/** Forgets transactions whose change sets were refused: they are rolled back already. */
export function forgetSets(draft, sets) {
  for (const [key, { set }] of [...draft.entries("undo")]) if (sets.has(set)) draft.delete("undo", key);
}

/** Forgets what was undone: a new edit has come since. */
export function forgetRedo(draft) {
  for (const [key, { kind }] of [...draft.entries("undo")]) if (kind === "redo") draft.delete("undo", key);
}

/** Whether there is a transaction to undo, or one to redo. */
export function canUndo(draft, kind) {
  return [...draft.entries("undo")].some(([, entry]) => entry.kind === kind);
}

/**
 * Reverses the last transaction of a kind, where the records are still as it left them.
 *
 * @param forbidden the keys of records that would break a rule of the schema.
 * @returns how many records were changed, and how many were left as they are; null when there is none.
 */
export function reverse(transaction, kind, forbidden) {
  const { draft } = transaction;
  const last = newestFirst(draft).find(([, entry]) => entry.kind === kind);
  if (!last) return null;
  const [key, { changes }] = last;
  draft.delete("undo", key);
  const changed = new Set();
  const open = [];
  const created = new Set(changes.filter(({ before }) => !before).map(({ table, id }) => `${table}/${id}`));
  // What was created last goes first, and what was deleted last comes back first: parents before their children.
  for (const change of [...changes].reverse()) {
    const own = `${change.table}/${change.id}`;
    try {
      if (!forbidden.has(own) && reverseChange(transaction, change, created, open)) changed.add(own);
    } catch (error) {
      // A value that the schema allows no more. Nothing is written then.
      if (!(error instanceof WriteError)) throw error;
    }
  }
  // What they refer to may have come back by now.
  for (const { table, id, link, target } of open) {
    if (!draft.record(link.target, target) || !draft.record(table, id)) continue;
    transaction.updateKept(table, id, { [link.column]: target });
    changed.add(`${table}/${id}`);
  }
  return { changed: changed.size, kept: changes.length - changed.size };
}

/** The references of a record's values to records that are not here. */
function missing({ draft, schema }, table, values) {
  return schema.linksOf({ name: table }).filter((link) => link.isInZone).map((link) => ({ link, target: values[link.column] ?? null }))
    .filter(({ link, target }) => target !== null && !draft.record(link.target, target));
}

/** Whether somebody has used a record that is to go: changed it, referred to it, or become a member of its zone. */
function isUsed({ draft, schema }, table, here, after, created) {
  if (Object.entries(after.columns).some(([name, value]) => (here.columns[name] ?? null) !== value)) return true;
  const refers = (link) => draft.referring(link, here.id).some((record) => !created.has(`${link.table}/${record.id}`));
  if (schema.linksTo({ name: table }).some((link) => link.isInZone && refers(link))) return true;
  return schema.table(table).rule === "root"
    && [...draft.records("members")].some(({ zone, columns }) => zone === here.id && columns.user !== draft.device.user);
}

/** @param open takes the references to what is not here, or comes back later. */
function reverseChange(transaction, { table, id, before, after }, created, open) {
  const { draft, schema } = transaction;
  const here = draft.record(table, id);
  if (!before) {
    if (!here || isUsed(transaction, table, here, after, created)) return false;
    transaction.delete(table, id);
    return true;
  }
  if (!after) {
    const gone = missing(transaction, table, before.columns);
    if (here || gone.some(({ link }) => link.required)) return false;
    open.push(...gone.map((reference) => ({ table, id, ...reference })));
    transaction.insertKept(table, id, { ...before.columns, ...Object.fromEntries(gone.map(({ link }) => [link.column, null])) }, before.zone);
    return true;
  }
  if (!here) return false;
  const values = {};
  for (const [name, value] of Object.entries(before.columns)) {
    const [made, now] = [after.columns[name], here.columns[name]];
    if (made === value) continue;
    const merge = combined(schema.table(table).columns.get(name)?.merge, made, value, now, true);
    if (merge) values[name] = merge.value;
    else if (now === made) values[name] = value;
  }
  for (const reference of missing(transaction, table, values)) {
    open.push({ table, id, ...reference });
    delete values[reference.link.column];
  }
  if (Object.keys(values).length === 0) return false;
  transaction.updateKept(table, id, values);
  return true;
}
