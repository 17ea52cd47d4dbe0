// Removing all that a device keeps. docs/FOLDERS.md, "Signing out".

import { newDevice } from "./state.js";
import { Zones } from "./zones.js";

/** How many operations wait to be confirmed. */
export function waiting(draft) {
  return draft.sorted("outbox").reduce((sum, set) => sum + set.last - set.first + 1, 0);
}

/** The zones of which a restored server may lack something. */
function lacking(draft, schema) {
  const zones = new Zones(draft, schema);
  return zones.all().filter(([zone, { resync }]) => zones.isAhead(zone) || resync === "verified").length;
}

/** Checks that nothing is on this device alone. @throws RangeError */
export function checkUnsent(draft, schema) {
  const unsent = waiting(draft) + draft.sorted("quarantine").length + draft.sorted("recovered").length;
  if (unsent > 0) throw new RangeError(`${unsent} edits are not on the server. Sync first, or use force to lose them.`);
  const count = lacking(draft, schema);
  if (count > 0) throw new RangeError(`The server was restored, and may lack what this device has of ${count} zones. Sync first, or use force to lose it.`);
}

/** What tells, compared with a later one, whether something came that is on this device alone. */
function lastEdits(draft, schema) {
  const { nextKey, nextQuarantine } = draft.device;
  return `${nextKey} ${nextQuarantine} ${draft.sorted("recovered").length} ${lacking(draft, schema)}`;
}

/** Removes all of a draft but what belongs to the app. @param left whether nothing may be written here from now on. */
export function erase(draft, left = false) {
  const { ownSchema, ownVersion } = draft.device;
  const columns = draft.get("local", "columns");
  for (const name of draft.storeNames()) for (const [key] of [...draft.entries(name)]) draft.delete(name, key);
  draft.put("local", "columns", columns);
  draft.device = { ...newDevice, ownSchema, ownVersion, ...(left && { left }) };
}

/** What tells, when a database is to be left, whose session it was, and what was on this device alone. @param force whether that may be lost. */
export function momentOf(draft, schema, force) {
  const { device, session } = draft.device;
  return { device, session, edits: force ? lastEdits(draft, schema) : null };
}

/**
 * Ends the session of a moment, and removes the data if that is wanted. What came since stays.
 *
 * @param isRemoved whether the database goes, too: nobody can write into it then.
 * @throws RangeError when somebody has signed in since, or something would be lost.
 */
export function leave(draft, schema, { erases, device, session, edits }, isRemoved) {
  const now = draft.device;
  // Another tab has done it.
  if (erases && device && now.device === null) return;
  if (now.device !== device || now.session !== session) throw new RangeError("Somebody has signed in meanwhile. Nothing was removed: sign out again.");
  if (!erases) {
    draft.device = { ...now, token: null, cookie: null };
    return;
  }
  if (edits === null || edits !== lastEdits(draft, schema)) checkUnsent(draft, schema);
  erase(draft, isRemoved);
}
