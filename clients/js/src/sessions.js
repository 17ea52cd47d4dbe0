// Binding a device to a session. docs/PROTOCOL.md, sections 2 and 7.

import { chainBeginning } from "./bytes.js";
import { Histories } from "./history.js";
import { parse, plain } from "./json.js";
import { Quarantine } from "./quarantine.js";
import { renumber } from "./requests.js";
import { checkSession } from "./shapes.js";
import { numberKey } from "./state.js";
import { Unapplied } from "./unapplied.js";
import { Zones } from "./zones.js";

/** Why a device can't have a session of another user. */
export function otherUser(name) {
  return new RangeError(`This store has the data of ${name}. Sign in as ${name}, or open a store of another name: the records of this one can be copied into it.`);
}

/** The session of an answer, as plain objects. @throws SyntaxError when it is none. */
export function parseSession(body, usesCookie) {
  const root = parse(body);
  checkSession(root, usesCookie);
  return plain(root);
}

/**
 * Takes the session that the server gave.
 *
 * @param usesCookie whether the browser keeps the token in a cookie.
 */
export function adopt(draft, schema, session, usesCookie, now) {
  const before = draft.device;
  if (before.user && before.user !== session.user.id) {
    throw otherUser(before.userName);
  }
  draft.device = {
    ...before, user: session.user.id, userName: session.user.name, device: session.device.id, session: session.device.session,
    token: usesCookie ? null : session.token, cookie: usesCookie ? session.token_id : null,
  };
  if (!before.user) moveIn(draft, schema, session.user.id);
  if (before.device === session.device.id) return;
  if (session.applied) leaveOut(draft, schema, session.applied, before.confirmed, now);
  // The server knows none of the new device's numbers.
  draft.device = { ...draft.device, confirmed: 0, confirmedChain: chainBeginning, resend: true, proof: "" };
  new Unapplied(draft, schema).forgetNumbers();
  renumber(draft, 1, chainBeginning);
}

/** What was written before the first sign-in goes into the user's own zone. */
function moveIn(draft, schema, user) {
  for (const dirty of [...draft.entries("dirty")].map(([, dirty]) => dirty)) {
    const ground = schema.ground(dirty.table);
    if (!ground.startsWith("user")) continue;
    const steps = dirty.steps.map((step) => (step.kind === "create" && step.zone === null ? { ...step, zone: user } : step));
    new Histories(draft, schema).keep({ ...dirty, steps });
  }
}

/**
 * Leaves out of the outbox of a copy what the original has brought through. What may have arrived, nobody knows, waits in quarantine. What is carried from
 * another database stays: the server tells by its origin whether it took effect.
 */
function leaveOut(draft, schema, applied, confirmed, now) {
  const name = (number, chain) => `${number} ${chain}`;
  const dealt = new Set(applied.sets.map(([number, chain]) => name(number, chain)));
  const refused = new Set((applied.refused ?? []).map(([number, chain]) => name(number, chain)));
  const sets = draft.sorted("outbox").filter(({ origin }) => !origin);
  const arrived = sets.filter((set) => dealt.has(name(set.last, set.chain))).at(-1)?.first ?? 0;
  const histories = new Histories(draft, schema);
  const zones = new Zones(draft, schema);
  const gone = sets.filter((set) => dealt.has(name(set.last, set.chain)));
  const uncertain = sets.filter((set) => !gone.includes(set)
    && (refused.has(name(set.last, set.chain)) || set.first < arrived || (confirmed < applied.from && set.last <= applied.from)));
  const created = histories.confirm(new Set(gone.map((set) => set.key)));
  histories.rollBack(new Set(uncertain.map((set) => set.key)));
  const quarantine = new Quarantine(draft, schema);
  for (const set of uncertain) {
    quarantine.add(set.body, -1, {
      code: "change-set-uncertain", status: 409, title: "The server may have this change set already",
      detail: "Look at the current records. Resend the change set or discard it.",
    }, now);
  }
  for (const set of [...gone, ...uncertain]) draft.delete("outbox", numberKey(set.key));
  awaitMissing(draft, zones, created);
  histories.settle();
}

/**
 * Sees to it that records which were created here and confirmed, but have not come, are asked for: a zone of which the device knows nothing may be
 * deleted already, and only asking tells.
 */
export function awaitMissing(draft, zones, created) {
  for (const { table, id } of created) {
    const record = draft.serverRecord(table, id);
    if (!record || record.rev > 0 || record.zone === null) continue;
    const zone = zones.get(record.zone);
    if (!zone || zone.ack === null) zones.begin(record.zone);
  }
}
