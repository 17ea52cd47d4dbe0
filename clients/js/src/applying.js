// Applying the answer of the server, in one transaction. docs/PROTOCOL.md, section 6.3.

import { columnsOf, tableOf } from "./answer.js";
import { Awaiting } from "./awaiting.js";
import { Histories } from "./history.js";
import { isLacking, Quarantine } from "./quarantine.js";
import { Recovery } from "./recovery.js";
import { Resending } from "./resending.js";
import { greatestRole } from "./schema.js";
import { awaitMissing } from "./sessions.js";
import { numberKey } from "./state.js";
import { followed, isDayAhead, laterStamp, stampMilliseconds, stampOf } from "./time.js";
import { Unapplied } from "./unapplied.js";
import { isIn, newZone, otherZone, Zones } from "./zones.js";

/** The answer is to an identity that was replaced, or before answers that another tab has applied. */
export class Outdated extends Error {}

/** The device's own history is another than the server's: it is a copy. */
export class Diverged extends Error {}

/**
 * Applies an answer.
 *
 * @param request the prepared request that it answers.
 * @param environment `{now()}`, whose milliseconds are since 1970.
 * @returns `{hasMore, quarantined, changes, remaining, wait, hasSettled, hasAdvanced, hasNews}`: `hasSettled` where a change set or a recovered record is done with,
 *   `hasAdvanced` where a part goes on with its zone, `hasNews` where the answer brought anything at all.
 * @throws Outdated, Diverged; then nothing of the answer is to be kept.
 */
export function applyAnswer(draft, schema, answer, request, environment) {
  return new Applying(draft, schema, answer, request, environment).run();
}

class Applying {
  constructor(draft, schema, answer, request, environment) {
    Object.assign(this, { draft, schema, answer, request, environment, now: environment.now() });
    this.histories = new Histories(draft, schema);
    this.zones = new Zones(draft, schema);
    this.quarantine = new Quarantine(draft, schema);
    this.recovery = new Recovery(draft, schema);
    this.unapplied = new Unapplied(draft, schema);
    this.awaiting = new Awaiting(draft, schema);
    this.applied = { hasMore: false, quarantined: 0, changes: 0, remaining: 0, wait: null, hasSettled: false, hasAdvanced: false, hasNews: false };
    /** Tombstones, which are applied when all records have come: a record may have moved to another zone of this answer. */
    this.deleted = [];
    /** By table and id, the latest rev of the tombstones that the server told. */
    this.tombstones = new Map();
    /** By zone, see `copiesIn`. */
    this.copies = null;
    /** By table and id, records that did not come with the copies of their zones. */
    this.unseen = new Set();
    /** The zones of which this server does not have what this device has. */
    this.ahead = new Set([...answer.zones.filter(({ restored }) => restored).map(({ zone }) => zone), ...answer.lost]);
    /** The roles in the zones of which a restored server has brought its copy. */
    this.restored = new Map();
  }

  run() {
    const { answer, draft, request, zones } = this;
    const { device } = draft;
    if (device.device !== request.device || device.session !== request.session) throw new Outdated();
    this.noteMoved();
    const created = answer.confirmed >= device.confirmed ? this.settleChangeSets() : [];
    if (answer.recovered) {
      const keys = request.recovered.slice(0, answer.recovered.count);
      this.applied.quarantined += this.recovery.settle(keys, answer.recovered.refused ?? [], this.now);
      if (keys.length > 0) this.applied.hasSettled = this.applied.hasNews = true;
    }
    zones.noteSent(request.acks);
    const abandoned = answer.resend ? [] : this.awaiting.note(answer);
    const lost = this.unapplied.keepLost(answer, this.now);
    this.applied.quarantined += lost;
    for (const part of answer.zones) this.applyPart(part, lost > 0);
    if (!answer.resend) this.dropAbandoned();
    if (lost > 0) this.unapplied.replaceLost((zone) => this.isAhead(zone));
    this.unapplied.purge(answer);
    this.removeDeleted();
    this.noteDeletions();
    this.histories.settleZones();
    for (const zone of new Set([...answer.lost, ...abandoned])) {
      if (zones.verify(zone)) continue;
      if (abandoned.includes(zone)) this.applied.quarantined += this.awaiting.keep(zone, this.now);
      this.lose(zone);
    }
    awaitMissing(draft, zones, created);
    this.keepProofs();
    this.histories.settle();
    // What is below an edit that has lost its place is with it again.
    if (answer.lost.length > 0 || abandoned.length > 0) this.histories.settleZones();
    this.advance();
    if (!answer.resend) {
      zones.noteResets(new Set(answer.zones.filter((part) => part.reset).map((part) => part.zone)));
      zones.fillVerified();
    }
    this.applied.hasMore = this.applied.hasMore || answer.resend || this.isMoreToExchange();
    this.applied.wait = zones.wait(this.now);
    return this.applied;
  }

  /** Notes which change sets are about zones that have moved: once the zones are gone here, neither the device nor the server may know that. */
  noteMoved() {
    const { answer, draft } = this;
    const refused = answer.refused.map(({ problem }) => problem).filter(({ code, zone }) => code === "zone-moved" && zone);
    const moved = new Map([...answer.moved, ...refused].map(({ zone, database }) => [zone, database]));
    if (moved.size === 0) return;
    const zonesBySet = this.histories.zonesBySet();
    for (const set of draft.sorted("outbox")) {
      const zones = [...zonesBySet.get(set.key) ?? []];
      const zone = zones.find((zone) => moved.has(zone));
      if (zone && !set.moved) draft.put("outbox", numberKey(set.key), { ...set, moved: { zone, database: moved.get(zone), zones } });
    }
  }

  // Steps 3 and 4.

  settleChangeSets() {
    const { answer, draft } = this;
    const { device } = draft;
    const outbox = draft.sorted("outbox");
    const own = answer.confirmed === device.confirmed
      ? device.confirmedChain : outbox.find((set) => set.last === answer.confirmed)?.chain;
    if (own !== answer.chain) throw new Diverged();
    const refused = answer.refused.map((refusal) => ({ refusal, set: outbox.find((set) => set.first === refusal.first) }))
      .filter(({ set }) => set);
    const deletedBehind = this.histories.rollBack(new Set(refused.map(({ set }) => set.key)));
    for (const { refusal, set } of refused) {
      draft.delete("outbox", numberKey(set.key));
      // A copy of it took effect before.
      if (refusal.problem.code === "already-applied") continue;
      this.quarantine.refuse(set, Math.max(0, refusal.operation - refusal.first), refusal.problem, this.now, deletedBehind.has(set.key));
      this.applied.quarantined += 1;
    }
    const confirmed = outbox.filter((set) => set.last <= answer.confirmed);
    const created = this.histories.confirm(new Set(confirmed.map((set) => set.key)));
    this.unapplied.note(confirmed, answer);
    // What the server's schema lacks is sent again when it has another one: it may go back and forth.
    const lacking = new Set(refused.filter(({ refusal }) => isLacking(refusal.problem)).map(({ set }) => set));
    if (confirmed.some((set) => !lacking.has(set))) this.applied.hasSettled = true;
    if (confirmed.length > 0) this.applied.hasNews = true;
    for (const set of confirmed) draft.delete("outbox", numberKey(set.key));
    draft.device = { ...draft.device, confirmed: answer.confirmed, confirmedChain: answer.chain };
    return created;
  }

  // Step 5.

  /** @param hasLost whether the server has lost edits that it had confirmed. */
  applyPart(part, hasLost) {
    const { zones, applied } = this;
    if ((zones.isOfOtherHistory(part) && zones.verify(part.zone)) || (part.restored && zones.goBack(part.zone, hasLost))) {
      applied.hasMore = true;
      applied.hasNews = true;
      return;
    }
    if (part.reset) {
      // Also of a zone that is not here: the server waits to hear so.
      if (!zones.mayReset(part.zone, this.now, part.restored === true)) return;
      zones.begin(part.zone, part.restored ? "restored" : "replaced");
      applied.hasMore = true;
      applied.hasNews = true;
      return;
    }
    const known = zones.get(part.zone) ?? newZone;
    if (known.ack !== part.from) {
      applied.hasMore = true;
      return;
    }
    if (part.to !== part.from) {
      applied.hasNews = true;
      // One that begins its zone may do so again and again.
      applied.hasAdvanced ||= part.from !== "";
    }
    applied.changes += part.count;
    applied.remaining += part.remaining;
    if (part.more) {
      applied.hasMore = true;
      // A zone for which the answer had no room has the token of before.
      if (part.to === part.from) return;
      // What is recovered in the end is for the role of before the restore.
      const role = known.resync === "restored" ? known.role : part.role;
      zones.put(part.zone, { ...known, role, ack: part.to, sent: false });
      zones.stage(part.zone, part.changes);
      return;
    }
    this.applyWhole(part, known);
  }

  /** Drops the staged parts of zones of which the rest does not come: a restored server lacks the zone, or knows their ack and has nothing more. */
  dropAbandoned() {
    const { answer, draft, zones } = this;
    const awaiting = new Set(answer.awaiting_recovery.map(({ zone }) => zone));
    for (const name of new Set(draft.sorted("pages").map(({ zone }) => zone))) {
      if (awaiting.has(name)) zones.goBack(name);
      // An answer that is full leaves zones out.
      else if (answer.zones.length === 0 && zones.get(name).sent && !answer.prove.includes(name)) zones.begin(name);
      else continue;
      this.applied.hasMore = true;
    }
  }

  applyWhole(part, known) {
    const pages = this.zones.pages(part.zone);
    if (pages.length === 0 && part.from !== "" && part.from !== known.token) {
      this.zones.begin(part.zone);
      this.applied.hasMore = true;
      return;
    }
    const isVerified = known.resync === "verified";
    const isCopy = (known.resync !== null && !isVerified) || known.token === "";
    // The restored server may know the user in a lower role.
    const session = {
      zone: part.zone, seen: isCopy ? new Set() : null, isRestored: known.resync === "restored", role: greatestRole([part.role, known.role]),
    };
    for (const page of pages) this.applyChanges(page.changes, session);
    this.applyChanges(part.changes, session);
    if (isCopy) this.removeUnseen(session);
    if (session.isRestored) this.restored.set(part.zone, session.role);
    this.zones.dropPages(part.zone);
    this.zones.put(part.zone, { ...known, role: part.role, token: part.to, ack: part.to, sent: false, resync: isVerified ? "verified" : null });
  }

  applyChanges(changes, session) {
    for (const change of changes) {
      const table = tableOf(this.schema, change.table, this.answer.renamed);
      if (!table) continue;
      if (change.deleted) this.noteTombstone(table, change, session);
      else this.applyRecord(table, change, session);
    }
  }

  noteTombstone(table, { id, rev }, session) {
    const key = `${table.name}/${id}`;
    this.deleted.push({ table: table.name, id, zone: session.zone, rev });
    this.tombstones.set(key, Math.max(rev, this.tombstones.get(key) ?? 0));
  }

  applyRecord(table, change, session) {
    session.seen?.add(`${table.name}/${change.id}`);
    const here = this.draft.serverRecord(table.name, change.id);
    if (here && this.isKept(table, here, change, session)) {
      // A restored server may have lost the move, and may refuse it when it is recovered.
      if (session.isRestored || this.isAhead(here.zone)) this.histories.keepCopy(table.name, { ...here, movedFrom: session.zone });
      return;
    }
    if (!session.isRestored) this.recovery.forget(table.name, change.id, change.rev);
    const columns = columnsOf(this.schema, table, change, this.answer.renamed);
    const record = { id: change.id, zone: session.zone, rev: change.rev, columns };
    // Both histories may have the rev; which edits the server has had is for it to tell.
    if (session.isRestored && here?.zone === session.zone && (here.rev > change.rev || differ(here, record))) this.noteLost(table, here, session);
    if (this.draft.dirty(table.name, change.id)) this.histories.rebase(table.name, change.id, record);
    else this.draft.putRecord(table.name, record);
  }

  /** Whether the copy here stays, as it is in another zone. */
  isKept(table, here, change, session) {
    // One that this device has made is where the server says.
    if (here.zone === session.zone || here.rev === 0 || this.unseen.has(`${table.name}/${here.id}`)) return false;
    // What the server has lost of that zone shows when its copy comes.
    if (this.isAhead(here.zone)) return true;
    // A page that waited is older than what another zone has brought since.
    return here.rev > change.rev && !this.zones.get(here.zone)?.resync;
  }

  isAhead(zone) {
    return this.ahead.has(zone) || this.zones.isAhead(zone);
  }

  /** Removes what tombstones name: a copy that is in another zone by now, or is a later life of the record, stays. */
  removeDeleted() {
    for (const { table, id, zone, rev } of this.deleted) {
      const server = this.draft.serverRecord(table, id);
      if (!server || !(isIn(server, zone) || server.rev === 0) || server.rev > rev) continue;
      this.histories.rebase(table, id, null);
      // The tombstone of a move that was confirmed says nothing of the zone that it went to.
      if (rev === Infinity || server.zone === zone) this.zones.askAgain(otherZone(server, zone));
    }
    // A move leaves a tombstone with the rev that the record has in its other zone.
    const ended = this.deleted.filter((deleted) => deleted.rev < Infinity && !this.lives(deleted));
    if (ended.length > 0) this.recovery.remember(ended, [this.now, stampMilliseconds(this.answer.clock)]);
  }

  /** Whether a record is here since its tombstone, or with it in another zone. */
  lives({ table, id, rev }) {
    return this.draft.serverRecord(table, id)?.rev >= rev;
  }

  /** Notes the deletions that a restored server does not know, when all that it has is here. What it is to delete is not shown again. */
  noteDeletions() {
    if (this.restored.size === 0) return;
    const isKnown = (deleted) => this.lives(deleted) || this.tombstones.get(`${deleted.table}/${deleted.id}`) >= deleted.rev;
    for (const { table, id, zone } of this.recovery.noteDeletions(this.restored, isKnown)) {
      if (this.draft.serverRecord(table, id)?.zone === zone) this.histories.rebase(table, id, null);
    }
  }

  /** After a zone came from its beginning: notes for removal the server's records that did not come. */
  removeUnseen(session) {
    for (const [table, id] of this.copiesIn(session.zone)) {
      const key = `${table.name}/${id}`;
      const record = this.draft.serverRecord(table.name, id);
      // Since the copies were listed, other parts have moved some.
      if (!record || !isIn(record, session.zone) || session.seen.has(key)) continue;
      if (record.zone !== session.zone && this.isAhead(record.zone)) continue;
      const isDeleted = this.tombstones.get(key) >= record.rev;
      if (session.isRestored && !isDeleted && !this.unseen.has(key)) this.noteLost(table, record, session);
      this.unseen.add(key);
      this.deleted.push({ table: table.name, id, zone: session.zone, rev: Infinity });
    }
  }

  /** The copies of the server's records that were in a zone when the first zone of the answer was whole: an answer may have thousands of zones. */
  copiesIn(zone) {
    this.copies ??= this.copiesByZone();
    return this.copies.get(zone) ?? [];
  }

  copiesByZone() {
    const copies = new Map();
    for (const [table, { id, zone, movedFrom }] of this.histories.copies()) {
      for (const name of new Set([zone, movedFrom])) {
        if (!copies.has(name)) copies.set(name, []);
        copies.get(name).push([table, id]);
      }
    }
    return copies;
  }

  /** A restored server has less than this device of a record that it has confirmed. */
  noteLost(table, { id, zone, rev, columns }, { role }) {
    if (rev === 0) return;
    this.recovery.forget(table.name, id, rev);
    this.recovery.note(table, { id, zone, rev, columns }, role);
  }

  keepProofs() {
    const { answer, draft, zones } = this;
    const proofs = Object.entries(answer.proofs ?? {});
    for (const [name, proof] of proofs) {
      const zone = zones.get(name);
      if (zone && zone.ack !== null) zones.put(name, { ...zone, proof });
    }
    const asked = answer.prove.filter((zone) => !this.request.claims.includes(zone));
    draft.device = {
      ...draft.device, proof: answer.proof ?? draft.device.proof, prove: answer.resend ? draft.device.prove : asked,
    };
  }

  // Step 6.

  lose(zone) {
    const isHere = (this.zones.get(zone)?.ack ?? null) !== null;
    this.applied.hasNews ||= isHere;
    this.zones.lose(zone);
  }

  // Step 7.

  advance() {
    const { answer, draft, now } = this;
    const { device } = draft;
    // One answer of a server whose clock is wrong must not spoil these for ever. What is not sent has stamps of this clock.
    const isClockKept = !draft.isEmpty("outbox") || !isDayAhead(device.clock, stampOf(now));
    draft.device = {
      ...device, clock: isClockKept ? laterStamp(device.clock, answer.clock) : followed(device.clock, answer.clock),
      lastServerClock: followed(device.lastServerClock, answer.clock),
      resend: answer.resend, serverSchema: answer.schema ?? device.serverSchema,
    };
    const isOtherSchema = device.serverSchema !== null && answer.schema !== undefined && answer.schema !== device.serverSchema;
    if (isOtherSchema) new Resending(draft, this.schema, this.environment).resendUnknown();
  }

  isMoreToExchange() {
    if (!this.draft.isEmpty("outbox") || !this.recovery.isEmpty() || this.draft.device.prove.length > 0) return true;
    return this.zones.all().some(([name, zone]) => {
      if (!zone.sent && (zone.ack === null || zone.ack === "" || zone.resync === "verified")) return true;
      return zone.reset?.until == null && this.zones.pages(name).length > 0;
    });
  }
}

/** Whether two copies of a record have other values. */
function differ(here, there) {
  return Object.entries(there.columns).some(([name, value]) => (here.columns[name] ?? null) !== value);
}
