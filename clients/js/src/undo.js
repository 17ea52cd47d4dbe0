// Undoing this device's own transactions, on top of whatever has happened since. docs/UNDO.md.

import { combined } from "./merge.js";
import { numberKey } from "./state.js";

const longest = 100;

/** Remembers what a transaction changed. @param kind `undo` or `redo`. */
export function remember(draft, changes, kind = "undo") {
  const own = changes.filter(({ table, before, after }) => table !== "conflicts" && (before || after));
  if (own.length === 0) return;
  const { device } = draft;
  draft.put("undo", numberKey(device.nextUndo), { kind, changes: own });
  draft.device = { ...device, nextUndo: device.nextUndo + 1 };
  const all = [...draft.entries("undo")].map(([key]) => key).sort();
  for (const key of all.slice(0, Math.max(0, all.length - longest))) draft.delete("undo", key);
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
  // What was created last goes first, and what was deleted last comes back first: parents before their children.
  for (const change of [...changes].reverse()) {
    if (reverseChange(transaction, change)) result.changed += 1;
    else result.kept += 1;
  }
  return result;
}

function reverseChange(transaction, { table, id, before, after }) {
  const { draft, schema } = transaction;
  const here = draft.record(table, id);
  if (!before) {
    if (!here) return false;
    transaction.delete(table, id);
    return true;
  }
  if (!after) {
    const parents = schema.linksOf({ name: table }).filter((link) => link.isInZone && link.required);
    if (here || parents.some((link) => !draft.record(link.target, before.columns[link.column]))) return false;
    transaction.insertKept(table, id, before.columns, before.zone);
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
