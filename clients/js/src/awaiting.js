// Zones that wait for a restored server to know whose they are. docs/RESTORING.md, section 7.

import { utf8Length } from "./bytes.js";
import { Histories } from "./history.js";
import { Quarantine } from "./quarantine.js";
import { Recovery } from "./recovery.js";
import { stampMilliseconds } from "./time.js";
import { Zones } from "./zones.js";

/** So long a zone stays that the restored server knows, without its user: an owner's device may upload the membership. */
const day = 86_400_000;
/** How many operations a change set has that keeps what a zone had, and about how many bytes. */
const countLimit = 500;
const sizeLimit = 1 << 20;

const problem = {
  code: "zone-not-recovered", status: 409, title: "The restored server does not have the zone, and nobody recovered it in time",
  detail: "Resend the change set to create the zone again, or discard it.",
};

/** The zones of a draft that await recovery. */
export class Awaiting {
  constructor(draft, schema) {
    this.draft = draft;
    this.schema = schema;
    this.zones = new Zones(draft, schema);
    this.recovery = new Recovery(draft, schema);
  }

  /**
   * Notes of which zones the restored server can't say whether they may be read, and until when they stay.
   *
   * @returns those of which the time is over; lost ones too, as nobody else may have what is in them.
   */
  note({ awaiting_recovery: awaited, lost, clock }) {
    const now = stampMilliseconds(clock);
    const untils = new Map(awaited.map(({ zone, until }) => [zone, until]));
    const ended = [];
    for (const [zone, state] of this.zones.all()) {
      const isLost = this.zones.isAwaiting(zone) && lost.includes(zone);
      if (isLost) ended.push(zone);
      if (isLost || state.ack === null) continue;
      const awaits = untils.has(zone) ? untils.get(zone) ?? state.awaits ?? now + day : null;
      if (awaits !== null && awaits < now) ended.push(zone);
      if (awaits !== (state.awaits ?? null)) this.zones.put(zone, { ...state, awaits });
    }
    return ended;
  }

  /** Keeps what the user could write in a zone that nobody recovered, as the server has none of it. @returns how many change sets went into quarantine. */
  keep(zone, now) {
    this.noteAll(zone);
    let [kept, operations, size] = [0, [], 0];
    const seal = () => {
      if (operations.length === 0) return;
      new Quarantine(this.draft, this.schema).add(`[${operations.join(",")}]`, -1, problem, now);
      [kept, operations, size] = [kept + 1, [], 0];
    };
    for (const [, entry] of this.recovery.sorted()) {
      // Only the server gives a membership back.
      const isOwn = entry.table === "members" && entry.columns?.user === this.draft.device.user;
      const operation = entry.zone === zone && !isOwn ? this.recovery.operation(entry, now) : null;
      if (operation === null) continue;
      operations.push(operation);
      size += utf8Length(operation);
      if (operations.length === countLimit || size > sizeLimit) seal();
    }
    seal();
    return kept;
  }

  /** Notes all that the device has of a zone, as if it were to be recovered. */
  noteAll(zone) {
    const { role } = this.zones.get(zone);
    const noted = new Set([...this.draft.entries("recovered")].map(([, { table, id }]) => `${table}/${id}`));
    for (const [table, copy] of [...new Histories(this.draft, this.schema).copies()]) {
      if (copy.zone === zone && copy.rev > 0 && !noted.has(`${table.name}/${copy.id}`)) this.recovery.note(table, copy, role);
    }
  }
}
