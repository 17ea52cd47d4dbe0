// Change sets that were confirmed before their zones were whole here: if the server is restored meanwhile, nobody else may have them.
// docs/RESTORING.md, section 4.

import { Quarantine } from "./quarantine.js";
import { numberKey } from "./state.js";
import { historyOf, Zones } from "./zones.js";

const problem = {
  code: "change-set-lost", status: 409, title: "The server confirmed this change set, then was restored from an older backup",
  detail: "Look at the current records. Resend the change set or discard it.",
};

/** Whether each zone that an answer tells of is whole with it. */
function bringsAll({ zones }) {
  return zones.length > 0 && !zones.some(({ more, reset }) => more || reset);
}

/** Whether it can be seen from an answer that the server was restored. */
function showsRestore({ zones, awaiting_recovery: awaiting }) {
  return awaiting.length > 0 || zones.some(({ restored, from, to }) => restored || (from && historyOf(from) !== historyOf(to)));
}

/** The confirmed change sets of a draft that are not applied. */
export class Unapplied {
  constructor(draft, schema) {
    this.draft = draft;
    this.schema = schema;
  }

  /** Keeps the sets that an answer confirms, unless it brings what became of them. */
  note(sets, answer) {
    if (!bringsAll(answer)) for (const { key, first, body } of sets) this.draft.put("unapplied", numberKey(key), { first, body });
  }

  /** Takes the sets that a restored server has lost into quarantine. @returns how many. */
  keepLost(answer, now) {
    if (!showsRestore(answer)) return 0;
    const lost = [...this.draft.entries("unapplied")].filter(([, { first }]) => first > answer.confirmed).sort(([left], [right]) => (left < right ? -1 : 1));
    for (const [key, { body }] of lost) {
      new Quarantine(this.draft, this.schema).add(body, -1, problem, now);
      this.draft.delete("unapplied", key);
    }
    return lost.length;
  }

  /** Begins the zones again in which lost edits may show: all in which there is nothing to recover. @param isAhead of a zone. */
  replaceLost(isAhead) {
    const zones = new Zones(this.draft, this.schema);
    for (const [zone, { ack, resync }] of zones.all()) if (ack !== null && resync !== "replaced" && !isAhead(zone)) zones.begin(zone);
  }

  /** Forgets the sets when nothing is on its way any more. */
  purge(answer) {
    if (bringsAll(answer) && this.draft.isEmpty("pages")) for (const [key] of [...this.draft.entries("unapplied")]) this.draft.delete("unapplied", key);
  }

  /** The numbers of another identity say nothing to the server: if it was restored, the sets count as lost. */
  forgetNumbers() {
    for (const [key, set] of [...this.draft.entries("unapplied")]) this.draft.put("unapplied", key, { ...set, first: Number.MAX_SAFE_INTEGER });
  }
}
