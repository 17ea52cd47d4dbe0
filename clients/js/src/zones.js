// How far a device has each zone. docs/PROTOCOL.md, section 6.3; docs/RETENTION.md, section 4.
//
// A zone is `{role, token, ack, sent, resync, proof, reset, awaits}`:
//
// | member | meaning |
// | --- | --- |
// | token | up to where the records here are whole; empty if the zone never was |
// | ack | what the next part must follow: empty for the zone's beginning, null for a zone that is given up |
// | sent | whether the server has stored `ack` |
// | resync | null, or why the zone comes from its beginning, see below |
// | reset | `{at, count, until}`: when the server last had the zone resynced, how often in a row, and until when the zone waits |
// | awaits | until when the zone awaits recovery, in milliseconds since 1970; null when it does not |
//
// | resync | the records here |
// | --- | --- |
// | replaced | may be outdated |
// | restored | may be what a restored server has lost, and are recovered |
// | filled | are whole up to `token`, but lack the values of new columns |
// | verified | the same. The server was restored, or reports the zone as lost: it first verifies `token` |

import { Histories } from "./history.js";
import { isChangeToken, isProof } from "./shapes.js";

const hour = 3_600_000;
const minute = 60_000;
/** So many resyncs within an hour go on at once when each is for a restore of the server. */
const restores = 4;

/** A zone of which nothing is here. */
export const newZone = { role: "", token: "", ack: "", sent: false, resync: null, proof: "", reset: null, awaits: null };
const leftZone = { ...newZone, ack: null };

/** Whether the records here can't be relied on. Such a resync ends only with a whole copy. */
const replacesAll = (resync) => resync === "replaced" || resync === "restored";

/** What tells the histories of two tokens apart. docs/PROTOCOL.md, section 1. */
export const historyOf = (token) => token.split(".")[0];

/** Whether a copy is in a zone, as far as is known. */
export function isIn(record, zone) {
  return record.zone === zone || record.movedFrom === zone;
}

/** The other zone that may have a copy which is in `zone`, as far as is known. */
export function otherZone(record, zone) {
  return record.zone === zone ? record.movedFrom : record.zone;
}

/** The tables whose records are each the root of a zone. */
const roots = (schema) => [...schema.tables.values()].filter(({ rule }) => rule === "root");

/** Whether all of a zone is here. */
export const isWhole = (state) => Boolean(state?.token) && state.token === state.ack;

/** Whether a device has a zone: it follows it, has made it, or it is the user's own. */
export function hasZone(draft, schema, zone) {
  const state = draft.get("zones", zone);
  return (state && state.ack !== null) || draft.device.user === zone || roots(schema).some(({ name }) => draft.record(name, zone) !== undefined);
}

/** The zones that a device has. */
export function zonesOf(draft, schema) {
  const zones = new Set([...draft.entries("zones")].filter(([, { ack }]) => ack !== null).map(([zone]) => zone));
  if (draft.device.user) zones.add(draft.device.user);
  for (const { name } of roots(schema)) for (const { id } of draft.records(name)) zones.add(id);
  return [...zones];
}

/** The zones that changes bring, which were not there before. */
export function newZones(changes, before, schema) {
  const names = new Set(roots(schema).map(({ name }) => `records/${name}`));
  const brought = changes.filter(([, , entry]) => entry !== undefined).flatMap(([store, key, entry]) => {
    if (store === "zones") return entry.ack === null ? [] : [key];
    if (store === "local") return key === "device" && entry.user ? [entry.user] : [];
    return names.has(store) ? [key] : [];
  });
  return [...new Set(brought)].filter((zone) => !hasZone(before, schema, zone));
}

/** The zones of a draft. */
export class Zones {
  constructor(draft, schema) {
    this.draft = draft;
    this.schema = schema;
  }

  get(zone) {
    return this.draft.get("zones", zone);
  }

  put(zone, state) {
    this.draft.put("zones", zone, state);
  }

  all() {
    return [...this.draft.entries("zones")];
  }

  /** Asks the server for a zone from its beginning; what is here stays until the new copy is whole. */
  begin(zone, resync = "replaced") {
    const state = this.get(zone) ?? (this.schema.publicZones.has(zone) ? leftZone : newZone);
    this.dropPages(zone);
    if (state.ack === null) return this.put(zone, { ...state, sent: false });
    return this.put(zone, { ...state, ack: "", sent: false, resync: replacesAll(state.resync) ? state.resync : resync });
  }

  /**
   * Ends a download in parts of a history that a restore has ended: the zone is as it was when it was whole, or comes from its beginning.
   *
   * @param hasLost whether edits of this device that the server has lost may show in it.
   * @returns false when none is under way.
   */
  goBack(zone, hasLost = false) {
    const state = this.get(zone);
    if (!state?.ack || state.ack === state.token) return false;
    if (hasLost || replacesAll(state.resync)) this.begin(zone);
    else if (state.resync === "filled") this.verify(zone);
    else this.returnTo(zone, state.resync);
    return true;
  }

  /** Takes a zone back to the last position at which it was whole. */
  returnTo(zone, resync) {
    this.dropPages(zone);
    const state = this.get(zone);
    this.put(zone, { ...state, ack: state.token, sent: false, resync });
  }

  // New columns. docs/SCHEMA-CHANGES.md, section 3.

  /** Asks for all zones from their beginnings, as columns are new here. */
  fill() {
    for (const [zone, { ack, token }] of this.all()) if (ack !== null && token !== "") this.begin(zone, "filled");
  }

  /** Whether a part is the first of a zone that is filled, and of another history than what is here: from it the server can't tell what it has lost. */
  isOfOtherHistory({ zone, from, to, reset }) {
    const state = this.get(zone);
    return state?.resync === "filled" && !reset && from === "" && to !== "" && historyOf(to) !== historyOf(state.token);
  }

  /** Lets the server verify the last whole position of a zone that is filled. @returns false when it is not. */
  verify(zone) {
    if (this.get(zone)?.resync !== "filled") return false;
    this.returnTo(zone, "verified");
    return true;
  }

  /** Goes on to fill the zones of which the server has found nothing wrong. */
  fillVerified() {
    for (const [zone, { resync, ack, token, sent, reset }] of this.all()) {
      if (resync === "verified" && ack === token && sent && reset?.until == null && !this.isAwaiting(zone)) this.begin(zone, "filled");
    }
  }

  // Restores of the server.

  isAwaiting(zone) {
    return (this.get(zone)?.awaits ?? null) !== null;
  }

  /** Whether a restored server may lack records of some zone, and is about to say what it has. One that waits must not hold up the others. */
  areUncertain() {
    return this.all().some(([zone, { ack, resync, reset }]) => ack !== null && reset?.until == null && !this.isAwaiting(zone)
      && (resync === "restored" || resync === "verified" || (resync === "filled" && ack === "")));
  }

  /** Mends what an earlier client took of an answer: no server gives such a proof or token, and each refuses a request with it. */
  mend() {
    const { device } = this.draft;
    if (!isProof(device.proof)) this.draft.device = { ...device, proof: "" };
    for (const [zone, state] of this.all()) {
      if (!isProof(state.proof)) this.put(zone, { ...state, proof: "" });
      if (state.token && !isChangeToken(state.token)) this.put(zone, { ...this.get(zone), token: "" });
      if (state.ack && !isChangeToken(state.ack)) this.begin(zone);
    }
  }

  /** Whether a restored server may have less of a zone than this device. */
  isAhead(zone) {
    return this.get(zone)?.resync === "restored" || this.isAwaiting(zone);
  }

  /** Asks again for a zone that may have a record which is in another one no more. */
  askAgain(zone) {
    const state = this.get(zone);
    if (state && state.ack !== null && !state.resync && !this.isAhead(zone)) this.begin(zone);
  }

  /** Begins or ends to follow a public zone. The caller removes the records of one that ends. */
  follow(zone) {
    const state = this.get(zone);
    if (!state || state.ack === null) this.put(zone, newZone);
  }

  /** Removes a zone that this device may no longer read. Unsent edits stay in the outbox; the server refuses them by name. */
  lose(zone) {
    const { draft, schema } = this;
    const histories = new Histories(draft, schema);
    const isGone = (record) => isIn(record, zone) && (record.zone === zone || !this.isAhead(record.zone));
    for (const table of schema.tables.values()) {
      for (const record of [...draft.records(table.name)]) {
        // An edit may show it in another zone than the server has it in. What edits made or moved below a parent is settled with that.
        const server = draft.serverRecord(table.name, record.id);
        if (!isGone(server ?? record)) continue;
        histories.rebase(table.name, record.id, null);
        const create = draft.record(table.name, record.id) && draft.dirty(table.name, record.id).steps.findLast(({ kind }) => kind === "create");
        if (create && table.rule !== "parent") histories.add(table.name, record.id, { set: create.set, kind: "hidden" });
        if (server) this.askAgain(otherZone(server, zone));
      }
    }
    for (const dirty of [...histories.dirty()]) if (dirty.server && isGone(dirty.server)) histories.rebase(dirty.table, dirty.id, null);
    for (const store of ["recovered", "deleted"]) {
      for (const [key, entry] of [...draft.entries(store)]) if (entry.zone === zone) draft.delete(store, key);
    }
    this.dropPages(zone);
    this.put(zone, leftZone);
  }

  /** The server has stored these acks, and forgets the zones that this device has left. */
  noteSent(acks) {
    for (const [zone, token] of acks) {
      const state = this.get(zone);
      if (!state || state.ack !== token) continue;
      if (token === null) this.draft.delete("zones", zone);
      else this.put(zone, { ...state, sent: true });
    }
  }

  // Pages.

  pages(zone) {
    return this.draft.sorted("pages").filter((page) => page.zone === zone);
  }

  stage(zone, changes) {
    const { device } = this.draft;
    this.draft.put("pages", String(device.nextPage).padStart(16, "0"), { zone, changes });
    this.draft.device = { ...device, nextPage: device.nextPage + 1 };
  }

  dropPages(zone) {
    for (const [key, page] of [...this.draft.entries("pages")]) if (page.zone === zone) this.draft.delete("pages", key);
  }

  // The pace of resyncs that the server asks for.

  /** Whether a zone is to be resynced now; if so it is counted. @param isRestored whether it is because the server was restored. */
  mayReset(zone, now, isRestored = false) {
    const state = this.get(zone) ?? newZone;
    const { reset } = state;
    const count = (count) => {
      this.put(zone, { ...(this.get(zone) ?? (this.schema.publicZones.has(zone) ? leftZone : newZone)), reset: { at: now, count: Math.min(count, 60), until: null } });
      return true;
    };
    if (!reset) return count(1);
    // It may be restored twice in a row.
    if (isRestored && reset.count < restores && now - reset.at < hour) return count(reset.count + 1);
    const wait = Math.min(minute * 2 ** Math.min(reset.count - 1, 6), hour);
    if (reset.until !== null) {
      // A clock that went back must not make the wait longer.
      const end = Math.min(reset.until, now + wait);
      if (end <= now) return count(reset.count + 1);
      if (end < reset.until) this.put(zone, { ...state, reset: { ...reset, until: end } });
      return false;
    }
    if (now - reset.at >= hour) return count(1);
    this.put(zone, { ...state, reset: { ...reset, until: now + wait } });
    return false;
  }

  /** The server has said which zones are to be resynced: others wait no longer. */
  noteResets(zones) {
    for (const [zone, state] of this.all()) {
      if (state.reset?.until != null && !zones.has(zone)) this.put(zone, { ...state, reset: { ...state.reset, until: null } });
    }
  }

  /** How long the first waiting zone waits still, in milliseconds; null when none does. */
  wait(now) {
    const ends = this.all().map(([, state]) => state.reset?.until).filter((until) => until != null);
    return ends.length === 0 ? null : Math.min(Math.max(Math.min(...ends) - now, 1), hour);
  }
}
