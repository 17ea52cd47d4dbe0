// Undoing this device's own transactions, on top of whatever has happened since. docs/UNDO.md.

import { combined } from "./merge.js";
import { numberKey } from "./state.js";

/** How many transactions are kept. */
const longest = 100;
/** A transaction of more changes is not kept. */
const largest = 1000;

/** Remembers what a transaction changed, which has just been sealed. @param kind `undo` or `redo`. */
export function remember(draft, changes, kind = "undo") {
  const own = changes.filter(({ table, before, after }) => table !== "conflicts" && (before || after));
  if (own.length === 0 || own.length > largest) return;
  const { device } = draft;
  draft.put("undo", numberKey(device.nextUndo), { kind, set: device.nextKey - 1, changes: own });
  draft.device = { ...device, nextUndo: device.nextUndo + 1 };
  const all = [...draft.entries("undo")].map(([key]) => key).sort();
  for (const key of all.slice(0, Math.max(0, all.length - longest))) draft.delete("undo", key);
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
 * @returns how many records were changed, and how many were left as they are, as somebody has changed them since; null when there is none.
 */
export function reverse(transaction, kind) {
  const { draft } = transaction;
  const found = [...draft.entries("undo")].filter(([, entry]) => entry.kind === kind).sort(([left], [right]) => (left < right ? 1 : -1));
  if (found.length === 0) return null;
  const [key, { changes }] = found[0];
  draft.delete("undo", key);
  const result = { changed: 0, kept: 0 };
  const open = [];
  const created = new Set(changes.filter(({ before }) => !before).map(({ table, id }) => `${table}/${id}`));
  // What was created last goes first, and what was deleted last comes back first: parents before their children.
  for (const change of [...changes].reverse()) {
    if (reverseChange(transaction, change, created, open)) result.changed += 1;
    else result.kept += 1;
  }
  // Records that refer to each other in a circle: the last one is here by now.
  for (const { table, id, link, target } of open) {
    if (draft.record(link.target, target) && draft.record(table, id)) transaction.updateKept(table, id, { [link.column]: target });
  }
  return result;
}

/** Whether somebody has used a record that is to go: changed it, referred to it, or become a member of its zone. */
function isUsed({ draft, schema }, table, here, after, created) {
  if (Object.entries(after.columns).some(([name, value]) => (here.columns[name] ?? null) !== value)) return true;
  const refers = (link) => draft.referring(link, here.id).some((record) => !created.has(`${link.table}/${record.id}`));
  if (schema.linksTo({ name: table }).some((link) => link.isInZone && refers(link))) return true;
  return schema.table(table).rule === "root"
    && [...draft.records("members")].some(({ zone, columns }) => zone === here.id && columns.user !== draft.device.user);
}

/** @param open takes the references of a record that comes back before what it refers to. */
function reverseChange(transaction, { table, id, before, after }, created, open) {
  const { draft, schema } = transaction;
  const here = draft.record(table, id);
  if (!before) {
    if (!here || isUsed(transaction, table, here, after, created)) return false;
    transaction.delete(table, id);
    return true;
  }
  if (!after) {
    const gone = schema.linksOf({ name: table }).filter((link) => {
      const target = before.columns[link.column] ?? null;
      return link.isInZone && target !== null && !draft.record(link.target, target);
    });
    if (here || gone.some((link) => link.required)) return false;
    open.push(...gone.map((link) => ({ table, id, link, target: before.columns[link.column] })));
    transaction.insertKept(table, id, { ...before.columns, ...Object.fromEntries(gone.map((link) => [link.column, null])) }, before.zone);
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
  if (Object.keys(values).length === 0) return false;
  transaction.updateKept(table, id, values);
  return true;
}
