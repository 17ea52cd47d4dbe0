// Making a sync request. docs/PROTOCOL.md, sections 3 and 7.

import { ackDigest, chained, utf8Length } from "./bytes.js";
import { Histories } from "./history.js";
import { requestBody } from "./operations.js";
import { Raw } from "./json.js";
import { Quarantine } from "./quarantine.js";
import { Recovery } from "./recovery.js";
import { numberKey } from "./state.js";
import { Zones } from "./zones.js";

/**
 * A request of what there is; null when nobody is signed in.
 *
 * @param limit the greatest number of change sets.
 * @param app what the server is told of the app, or undefined.
 * @param sizeLimit the bytes of change sets beyond which none is added.
 */
export function prepareRequest(draft, schema, limit, app, sizeLimit) {
  const { device } = draft;
  if (!device.device || !(device.token || device.cookie)) return null;
  const zones = [...draft.entries("zones")].sort(([left], [right]) => (left < right ? -1 : 1));
  const followed = zones.filter(([, zone]) => zone.ack !== null);
  const acks = (device.resend ? followed : zones.filter(([, zone]) => !zone.sent)).map(([name, zone]) => [name, zone.ack]);
  const claims = device.prove.slice(0, 1000).flatMap((zone) => claim(draft, schema, zone));
  const recovery = new Recovery(draft, schema);
  // Edits may build on what a restored server has lost.
  const isWaiting = claims.length > 0 || !recovery.isEmpty() || new Zones(draft, schema).areUncertain();
  const outbox = isWaiting ? [] : draft.sorted("outbox");
  const recovered = claims.length > 0 ? [] : recovery.next(limit, sizeLimit);
  const sets = [];
  let size = 0;
  for (const set of outbox) {
    if (sets.length >= limit || size >= sizeLimit) break;
    const length = utf8Length(set.body);
    // A large set goes alone.
    if (sets.length > 0 && size + length > 4 * sizeLimit) break;
    size += length;
    sets.push(set);
  }
  const carried = sets.filter(({ origin }) => origin).map(({ first, origin }) => [first, origin]);
  const isNaming = acks.length > 0 || device.resend;
  const body = requestBody({
    protocol: 1, acknowledged_refusals: device.confirmed,
    acks: isNaming ? new Map(acks) : undefined, complete: isNaming ? device.resend : undefined,
    last_server_clock: device.lastServerClock, digest: ackDigest(followed.map(([name, zone]) => [name, zone.ack])),
    client: app ? { app, schema: schema.fingerprint } : undefined,
    schema_version: schema.version > 0 ? schema.version : undefined,
    proof: device.proof || undefined,
    claims: claims.length > 0 ? new Map(claims) : undefined,
    recovered: recovered.length > 0 ? new Raw(`[${recovered.map(({ text }) => text).join(",")}]`) : undefined,
    first: sets.length > 0 ? sets[0].first : undefined, chain: sets.length > 0 ? sets[0].before : undefined,
    last_chain: sets.at(-1)?.chain, carried: carried.length > 0 ? carried : undefined,
  }, sets.map((set) => set.body));
  return {
    body, acks, device: device.device, session: device.session, token: device.token, cookie: device.cookie, confirmed: device.confirmed,
    items: sets.length + recovered.length, recovered: recovered.map(({ key }) => key), oldest: sets[0]?.chain ?? null, claims: claims.map(([zone]) => zone),
    operations: sets.reduce((sum, set) => sum + set.last - set.first + 1, 0),
    waiting: outbox.reduce((sum, set) => sum + set.last - set.first + 1, 0),
  };
}

/** What is said of a zone for which a restored server asks. docs/RESTORING.md, section 4. */
function claim(draft, schema, name) {
  const zone = draft.get("zones", name);
  if (!zone) return [];
  let records = 0;
  for (const table of schema.tables.keys()) for (const record of draft.records(table)) if (record.zone === name) records += 1;
  return [[name, { proof: zone.proof, role: zone.role, records }]];
}

/** Whether the identity, the session and the answers processed are still those of a request. */
export function isCurrent(draft, request) {
  const { device } = draft;
  return device.device === request.device && device.session === request.session && device.confirmed === request.confirmed;
}

/** Gives all change sets of the outbox the numbers from `first` on, behind a chain. Their bytes stay. */
export function renumber(draft, first, chain) {
  let number = first;
  for (const set of draft.sorted("outbox")) {
    const count = set.last - set.first + 1;
    const next = chained(chain, set.body);
    draft.put("outbox", numberKey(set.key), { ...set, first: number, last: number + count - 1, before: chain, chain: next });
    number += count;
    chain = next;
  }
  draft.device = { ...draft.device, nextNumber: number, chain };
}

/**
 * Moves the oldest change set, or what was recovered, which was alone in a request that the server can't take, into quarantine.
 *
 * @returns false when it is no longer the oldest.
 */
export function quarantineOldest(draft, schema, request, problem, now) {
  if (request.recovered.length > 0) return new Recovery(draft, schema).settle(request.recovered, [{ index: 0, problem }], now) > 0;
  const [oldest] = draft.sorted("outbox");
  if (!oldest || oldest.chain !== request.oldest) return false;
  const histories = new Histories(draft, schema);
  histories.rollBack(new Set([oldest.key]));
  new Quarantine(draft, schema).refuse(oldest, 0, problem, now);
  draft.delete("outbox", numberKey(oldest.key));
  histories.settle();
  // The server never processed the number: what follows takes its place.
  renumber(draft, oldest.first, oldest.before);
  return true;
}
