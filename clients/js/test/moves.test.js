// Records that move between zones, whose moves are lost or refused.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Device, expectAgreement } from "./devices.js";
import { folder, Server } from "./server.js";

const text = { type: "text", required: true };
const parent = (to) => ({ type: "reference", to, required: true, on_delete: "cascade" });
const form = {
  holdfast: 1, name: "moves", tables: {
    lists: { zone: "root", columns: { title: text } },
    items: { zone: { parent: "list" }, columns: { list: parent("lists"), title: text, code: { type: "text" } }, unique: [["code"]] },
    parts: { zone: { parent: "item" }, columns: { item: parent("items"), title: text } },
    notes: { zone: { parent: "part" }, columns: { part: parent("parts"), title: text } },
  },
};

/** A server, and devices of ada and bob. */
async function open(t) {
  const schema = join(folder(t), "moves.json");
  writeFileSync(schema, JSON.stringify(form));
  const server = await Server.start(t, { schema });
  // Bob's clock is slow: of two edits, his is the earlier one.
  const environment = { now: () => Date.now() - 60_000, random: Math.random, random64: () => randomBytes(8).readBigUInt64BE() };
  const ada = await Device.signUp("ada", { server, schema });
  const bob = await Device.signUp("bob", { server, schema, environment });
  return { ada, bob, again: () => Device.signIn("bob", { server, schema }) };
}

/** Bob accepts what ada has shared with him. */
async function share(ada, bob, ...lists) {
  const ids = await ada.write((db) => lists.map((zone) => db.insert("members", { zone, name: "bob", role: "editor" })));
  await ada.sync();
  const { memberships } = await bob.engine.request("GET", "v1/memberships");
  for (const { id } of memberships) await bob.engine.request("POST", `v1/memberships/${id}/accept`);
  await bob.sync();
  await ada.sync();
  return ids;
}

const list = (device, title) => device.write((db) => db.insert("lists", { title }));
const zoneOf = (device, table, id) => device.store.get(table, id)?.zone;

/** Bob's move of an item will lose: ada has moved it elsewhere, deleted it there, and taken him the list where it was. */
async function lostMove(t) {
  const { ada, bob, again } = await open(t);
  const [before, after] = [await list(ada, "Before"), await list(ada, "After")];
  const item = await ada.write((db) => db.insert("items", { list: before, title: "Tent" }));
  const [membership] = await share(ada, bob, before, after);
  const own = await list(bob, "Own");
  await bob.sync();

  await bob.write((db) => db.update("items", item, { list: own }));
  await ada.write((db) => db.update("items", item, { list: after }));
  await ada.sync();
  await ada.write((db) => db.delete("items", item));
  await ada.write((db) => db.delete("members", membership));
  await ada.sync();
  return { bob, again, item };
}

test("a record whose move lost goes with the zone that it left (I7, I10)", async (t) => {
  const { bob, again, item } = await lostMove(t);
  await bob.sync();
  assert.equal(bob.store.get("items", item), undefined);
  await expectAgreement(bob, await again());
});

test("a record whose move lost goes with the zone that it left, also under an edit (I7)", async (t) => {
  const { bob, again, item } = await lostMove(t);
  // An edit that is made while the answer is on its way.
  const { transport } = bob.engine;
  bob.engine.transport = {
    request: async (request) => {
      bob.engine.transport = transport;
      const answer = await transport.request(request);
      await bob.write((db) => db.update("items", item, { title: "Big tent" }));
      return answer;
    },
  };
  await bob.sync();
  await expectAgreement(bob, await again());
});

/** An item and a part of it; bob's move of the item will be refused, because it comes with an item whose code is taken. */
async function refusedMove(t) {
  const devices = await open(t);
  const { ada, bob } = devices;
  const shared = await list(ada, "Shared");
  const [item, other, part, note] = await ada.write((db) => {
    const [item, other] = ["Tent", "Stove"].map((title) => db.insert("items", { list: shared, title }));
    const part = db.insert("parts", { item, title: "Peg" });
    return [item, other, part, db.insert("notes", { part, title: "Bent" })];
  });
  const [membership] = await share(ada, bob, shared);
  const own = await list(bob, "Own");
  await bob.sync();
  await ada.write((db) => db.insert("items", { list: shared, title: "First", code: "a" }));
  await ada.write((db) => db.insert("items", { list: shared, title: "Second", code: "b" }));
  await ada.sync();
  await bob.write((db) => {
    db.update("items", item, { list: own });
    db.insert("items", { list: shared, title: "Third", code: "a" });
  });
  return { ...devices, shared, item, other, part, note, membership };
}

for (const isRemoved of [false, true]) {
  const end = isRemoved ? "goes with that zone" : "is deleted with the others";
  test(`a record that an accepted edit leaves where it was stays in its zone, and ${end} (I7, I10)`, async (t) => {
    const { ada, bob, again, shared, item, other, part, note, membership } = await refusedMove(t);
    await bob.write((db) => {
      db.update("parts", part, { item: other });
      db.insert("items", { list: shared, title: "Fourth", code: "b" });
    });
    // On the server it was there all the time.
    await bob.write((db) => db.update("parts", part, { item }));
    await bob.sync();
    assert.equal(bob.store.quarantined().length, 2);
    assert.equal(zoneOf(bob, "parts", part), shared);
    assert.equal(zoneOf(bob, "notes", note), shared);
    await expectAgreement(bob, await again());

    await ada.write((db) => (isRemoved ? db.delete("members", membership) : db.delete("parts", part)));
    await ada.sync();
    await bob.sync();
    assert.equal(bob.store.get("parts", part), undefined);
    assert.equal(bob.store.get("notes", note), undefined);
    await expectAgreement(bob, await again());
  });
}

test("an edit that waits follows its parent back from a refused move (I7)", async (t) => {
  const { bob, again, shared, item } = await refusedMove(t);
  const { transport } = bob.engine;
  const zones = [];
  let part;
  bob.engine.transport = {
    request: async (request) => {
      if (part) zones.push(zoneOf(bob, "parts", part));
      const answer = await transport.request(request);
      // While the answer is on its way, the item is still shown where the move took it.
      part ??= await bob.write((db) => db.insert("parts", { item, title: "Rope" }));
      return answer;
    },
  };
  await bob.sync();
  assert.ok(zones.length > 0);
  for (const zone of zones) assert.equal(zone, shared);
  await expectAgreement(bob, await again());
});

test("what others have put below a record goes along with its move before that is confirmed (I7)", async (t) => {
  const { ada, bob, again } = await open(t);
  const [shared, target] = [await list(ada, "Shared"), await list(ada, "Target")];
  const item = await ada.write((db) => db.insert("items", { list: shared, title: "Tent" }));
  await share(ada, bob, shared, target);
  const [part, note] = await ada.write((db) => {
    const part = db.insert("parts", { item, title: "Peg" });
    return [part, db.insert("notes", { part, title: "Bent" })];
  });
  await ada.sync();
  const { transport } = bob.engine;
  const shown = [];
  bob.engine.transport = {
    request: async (request) => {
      if (bob.store.get("notes", note)) shown.push([zoneOf(bob, "parts", part), zoneOf(bob, "notes", note)]);
      const answer = await transport.request(request);
      // While the answer with them is on its way.
      if (bob.store.get("items", item).list === shared) await bob.write((db) => db.update("items", item, { list: target }));
      return answer;
    },
  };
  await bob.sync();
  assert.ok(shown.length > 0);
  for (const zones of shown) assert.deepEqual(zones, [target, target]);
  await ada.sync();
  await expectAgreement(bob, await again());
  assert.equal(zoneOf(ada, "notes", note), target);
});

test("what is below a record whose move lost stays in the zone of that record (I7)", async (t) => {
  const { ada, bob, again } = await open(t);
  const [shared, target] = [await list(ada, "Shared"), await list(ada, "Target")];
  const [there, part, note] = await ada.write((db) => {
    const [here, there] = ["Tent", "Stove"].map((title) => db.insert("items", { list: shared, title }));
    const part = db.insert("parts", { item: here, title: "Peg" });
    return [there, part, db.insert("notes", { part, title: "Bent" })];
  });
  const away = await ada.write((db) => db.insert("items", { list: target, title: "Lamp" }));
  const [, membership] = await share(ada, bob, shared, target);

  await bob.write((db) => db.update("parts", part, { item: away }));
  await ada.write((db) => db.update("parts", part, { item: there }));
  await ada.sync();
  await bob.sync();
  assert.equal(bob.store.get("parts", part).item, there);
  assert.equal(zoneOf(bob, "notes", note), shared);
  // The note is not in the zone that its device had meant.
  await ada.write((db) => db.delete("members", membership));
  await ada.sync();
  await bob.sync();
  assert.equal(bob.store.get("notes", note)?.title, "Bent");
  await expectAgreement(bob, await again());
});

for (const isBelow of [false, true]) {
  test(`a record that an unsent edit has moved to a zone which is lost is where it was${isBelow ? ", with what is below it" : ""} (I3, I7)`, async (t) => {
    const { ada, bob, again } = await open(t);
    const theirs = await list(ada, "Ada's");
    const [membership] = await share(ada, bob, theirs);
    const [own, item, part] = await bob.write((db) => {
      const own = db.insert("lists", { title: "Own" });
      const item = db.insert("items", { list: own, title: "Tent" });
      return [own, item, db.insert("parts", { item, title: "Peg" })];
    });
    await bob.sync();
    await bob.sync();
    // The answer that says the zone is lost comes before the move is sent.
    for (let count = 0; count < 600; count++) await bob.write((db) => db.update("lists", own, { title: `Own ${count}` }));
    await bob.write((db) => db.update("items", item, { list: theirs }));
    const note = isBelow ? await bob.write((db) => db.insert("notes", { part, title: "Bent" })) : null;
    await ada.write((db) => db.delete("members", membership));
    await ada.sync();
    const { transport } = bob.engine;
    const shown = [];
    bob.engine.transport = {
      request: (request) => {
        shown.push([zoneOf(bob, "items", item), zoneOf(bob, "parts", part), note && zoneOf(bob, "notes", note)]);
        return transport.request(request);
      },
    };
    await bob.sync();
    assert.deepEqual(shown.slice(0, 2), [[theirs, theirs, note && theirs], [own, own, note && own]]);
    assert.deepEqual(bob.store.quarantined().map(({ operations: [{ op, table }] }) => [op, table]), [["update", "items"]]);
    assert.deepEqual([zoneOf(bob, "items", item), zoneOf(bob, "parts", part), note && zoneOf(bob, "notes", note)], [own, own, note && own]);
    await expectAgreement(bob, await again());
  });
}

test("a record that is created below an edit which is refused, as the zone is lost, is as the server has it (I7)", async (t) => {
  const { ada, bob, again } = await open(t);
  const theirs = await list(ada, "Ada's");
  const [membership] = await share(ada, bob, theirs);
  const [own, item] = await bob.write((db) => {
    const own = db.insert("lists", { title: "Own" });
    return [own, db.insert("items", { list: own, title: "Tent" })];
  });
  await bob.sync();
  await bob.sync();
  await bob.write((db) => db.update("items", item, { list: theirs }));
  const part = await bob.write((db) => db.insert("parts", { item, title: "Peg" }));
  await ada.write((db) => db.delete("members", membership));
  await ada.sync();
  // One answer refuses the edit, confirms the record and brings it, and says that the zone is lost.
  await bob.sync();
  const { rev, zone } = bob.store.get("parts", part);
  assert.deepEqual([rev, zone], [1, own]);
  await expectAgreement(bob, await again());
});
