// How far a device has each zone. docs/PROTOCOL.md, section 6.3; docs/RETENTION.md, section 4.
//
// A zone is `{role, token, ack, sent, resync, proof, reset}`:
//
// | member | meaning |
// | --- | --- |
// | token | up to where the records here are whole; empty if the zone never was |
// | ack | what the next part must follow: empty for the zone's beginning, null for a zone that is given up |
// | sent | whether the server has stored `ack` |
// | resync | null, `replaced`, or `restored` where the server was restored and has less |
// | reset | `{at, count, until}`: when the server last had the zone resynced, how often in a row, and until when the zone waits |

import { isChangeToken, isProof } from "./shapes.js";

const hour = 3_600_000;
const minute = 60_000;
/** So many resyncs within an hour go on at once when each is for a restore of the server. */
const restores = 4;

/** A zone of which nothing is here. */
export const newZone = { role: "", token: "", ack: "", sent: false, resync: null, proof: "", reset: null };
const leftZone = { ...newZone, ack: null };

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
    return this.put(zone, { ...state, ack: "", sent: false, resync: state.resync === "restored" ? "restored" : resync });
  }

  /** Ends a download in parts: the zone is as it was when it was whole, or comes from its beginning where it was to be resynced. */
  goBack(zone) {
    const state = this.get(zone);
    this.dropPages(zone);
    this.put(zone, { ...state, ack: state.resync ? "" : state.token, sent: false });
  }

  /** Mends what an earlier client took of an answer: no server gives such a proof or token, and each refuses a request with it. */
  mend() {
    const { device } = this.draft;
    if (!isProof(device.proof)) this.draft.device = { ...device, proof: "" };
    for (const [zone, state] of this.all()) {
      if (!isProof(state.proof)) this.put(zone, { ...state, proof: "" });
      if (state.ack && !isChangeToken(state.ack)) this.begin(zone);
    }
  }

  /** Whether a restored server may have less of a zone than this device. */
  isAhead(zone) {
    return this.get(zone)?.resync === "restored" || this.draft.device.awaiting.includes(zone);
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

  leave(zone) {
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
