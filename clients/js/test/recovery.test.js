// What devices give back to a server that was restored, while others have gone on.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { MemoryStorage, Store } from "../index.js";
import { Histories } from "../src/history.js";
import { Device, expectAgreement } from "./devices.js";
import { folder, run, Server } from "./server.js";

const text = { type: "text" };
const form = {
  holdfast: 1, name: "recovery", tables: {
    lists: { zone: "root", columns: { title: text } },
    items: {
      zone: { parent: "list" }, columns: {
        list: { type: "reference", to: "lists", required: true, on_delete: "cascade" },
        under: { type: "reference", to: "items", on_delete: "set_null" },
        title: text, note: text,
      },
    },
  },
};

/** A server, a phone, a laptop and a tablet of ada, and two lists; one has a tent and a peg. @param others how many items the other list has. */
async function open(t, { others = 0 } = {}) {
  const schema = join(folder(t), "recovery.json");
  writeFileSync(schema, JSON.stringify(form));
  const server = await Server.start(t, { schema });
  const backup = join(folder(t), "backup");
  const phone = await Device.signUp("ada", { server, schema });
  const [laptop, tablet] = [await Device.signIn("ada", { server, schema }), await Device.signIn("ada", { server, schema })];
  const [here, there, tent, peg] = await laptop.write((db) => {
    const [here, there] = ["Here", "There"].map((title) => db.insert("lists", { title }));
    for (let count = 0; count < others; count++) db.insert("items", { list: there, title: `Item ${count}` });
    return [here, there, ...["Tent", "Peg"].map((title) => db.insert("items", { list: here, title }))];
  });
  await laptop.sync();
  await phone.sync();
  await tablet.sync();
  run("backup", "--data", server.data, backup);
  return {
    server, phone, laptop, tablet, here, there, tent, peg,
    /** A new device, which has what the server has. */
    fresh: async () => {
      const device = await Device.signIn("ada", { server, schema });
      await device.sync();
      return device;
    },
    restore: async () => {
      await server.kill();
      run("restore", "--replace", "--data", server.data, backup);
      await server.start();
    },
  };
}

const move = (device, id, list) => device.write((db) => db.update("items", id, { list }));

/** The phone has moved the tent, and the server has lost that; the laptop, which did not see it, goes on. */
async function lostMove(t, { edits = 0, others, goOn }) {
  const all = await open(t, { others });
  const { phone, laptop, there, tent } = all;
  await move(phone, tent, there);
  await phone.sync();
  for (let count = 0; count < edits; count++) {
    await phone.write((db) => db.update("items", tent, { note: `note ${count}` }));
    await phone.sync();
  }
  await phone.sync();
  await all.restore();
  await laptop.sync();
  await laptop.write((db) => goOn(db, all));
  await laptop.sync();
  await phone.sync();
  return all;
}

for (const others of [0, 10]) {
  // Smaller zones come first.
  const order = others === 0 ? "behind" : "before";

  test(`a move that a restored server has lost deletes no record, when its zone comes ${order} the other one (I3, I8)`, async (t) => {
    const { laptop, fresh, tent } = await lostMove(t, { others, goOn: (db, { there }) => db.delete("lists", there) });
    await laptop.sync();
    assert.equal(laptop.store.get("items", tent)?.title, "Tent");
    assert.equal((await fresh()).store.get("items", tent)?.title, "Tent");
  });

  for (const isGone of [false, true]) {
    const why = isGone ? "as its list is gone" : "as it may not leave a record behind";
    test(`a record whose recovery in another zone is refused, ${why}, is where the server has it, with its references, when its zone comes ${order} the other one (I7)`, async (t) => {
      const { phone, laptop, fresh, tent, peg } = await lostMove(t, {
        edits: 2, others, goOn: (db, { there, tent, peg }) => {
          db.update("items", peg, { under: tent });
          if (isGone) db.delete("lists", there);
        },
      });
      await expectAgreement(await fresh(), phone, laptop);
      assert.equal(phone.store.get("items", tent)?.title, "Tent");
      assert.equal(phone.store.get("items", peg).under, tent);
      // What the server did not take waits for a person (I3).
      assert.deepEqual(phone.store.quarantined().map(({ operations }) => operations[0].columns.note), ["note 1"]);
    });
  }

  test(`what a restored server has lost of a record that was deleted since in its zone of before is logged, when that zone comes ${order} the other one (I3, I8)`, async (t) => {
    const { phone, laptop, tent } = await lostMove(t, { edits: 2, others, goOn: (db, { tent }) => db.delete("items", tent) });
    await expectAgreement(phone, laptop);
    assert.equal(phone.store.get("items", tent), undefined);
    const log = phone.store.all("conflicts", { where: { record_id: tent, column_name: "note" } });
    assert.deepEqual(log.map(({ loser_value: loser }) => loser), ["note 1"]);
  });
}

for (const more of [0, 1]) {
  test(`an edit that a restored server has lost is kept, when the record has ${more ? "a later rev" : "the same rev"} there by an edit of another column (I2, I3)`, async (t) => {
    const { phone, laptop, restore, fresh, tent } = await open(t);
    await phone.write((db) => db.update("items", tent, { note: "Two poles" }));
    await phone.sync();
    await restore();
    await laptop.sync();
    for (let count = 0; count <= more; count++) {
      await laptop.write((db) => db.update("items", tent, { title: `Tent ${count}` }));
      await laptop.sync();
    }
    await phone.sync();
    await expectAgreement(phone, laptop, await fresh());
    const { title, note } = laptop.store.get("items", tent);
    const logged = laptop.store.all("conflicts", { where: { record_id: tent } }).map(({ policy, loser_value: loser }) => [policy, loser]);
    assert.equal(title, `Tent ${more}`);
    assert.ok(note === "Two poles" || logged.some(([policy, loser]) => policy === "restore" && loser === "Two poles"), JSON.stringify([note, logged]));
  });
}

for (const others of [0, 10]) {
  test(`a record that others have moved on since is in its list of now, when the lost one comes ${others === 0 ? "before" : "behind"} that (I7)`, async (t) => {
    const { phone, laptop, tablet, restore, fresh, there, tent } = await open(t, { others });
    await move(phone, tent, there);
    await phone.sync();
    await tablet.sync();
    await restore();
    await laptop.sync();
    const last = await laptop.write((db) => {
      const last = db.insert("lists", { title: "Last" });
      for (let count = 0; count < 10 - others; count++) db.insert("items", { list: last, title: `Item ${count}` });
      db.update("items", tent, { list: last });
      return last;
    });
    await laptop.sync();
    // It recovers the move, which has lost: the list that the tent was moved to gets a tombstone.
    await tablet.sync();
    await phone.sync();
    assert.equal(phone.store.get("items", tent)?.zone, last);
    await expectAgreement(await fresh(), phone, laptop, tablet);
  });
}

test("a copy whose parent is not here is hidden, and is as the server has it when the parent comes (I7, I9)", async () => {
  const store = await Store.open({ storage: new MemoryStorage(), schema: form });
  const list = { id: "list", zone: "list", rev: 1, columns: { title: "Here" } };
  const item = (id, rev, under) => ({ id, zone: "list", rev, columns: { list: "list", under, title: id, note: null } });
  /** Takes records of the server, as an answer does. */
  const take = (body) => store.transact((draft) => {
    body(draft);
    new Histories(draft, store.schema).settle();
  });
  await take((draft) => draft.putRecord("items", item("peg", 3, "tent")));
  assert.deepEqual(store.all("items"), []);
  await take((draft) => draft.putRecord("lists", list));
  assert.equal(store.get("items", "peg").under, null);
  // An edit of the meantime stays on top.
  await store.write((db) => db.update("items", "peg", { note: "bent" }));
  await take((draft) => draft.putRecord("items", item("tent", 1, null)));
  const { under, note, rev } = store.get("items", "peg");
  assert.deepEqual({ under, note, rev }, { under: "tent", note: "bent", rev: 3 });
});

for (const isCreate of [false, true]) {
  test(`${isCreate ? "a record" : "an edit"} that was confirmed before its zone had come is in quarantine after a restore, and not shown as the server's (I3, I7)`, async (t) => {
    const { phone, laptop, restore, fresh, here, tent } = await open(t);
    for (let batch = 0; batch < 2; batch++) {
      await laptop.write((db) => { for (let count = 0; count < 400; count++) db.insert("items", { list: here, note: "x".repeat(9000) }); });
    }
    await laptop.sync();
    const id = await phone.write((db) => (isCreate ? db.insert("items", { list: here, title: "Rope" }) : db.update("items", tent, { note: "Two poles" })));
    // The answer that confirms it is the last one before the restore.
    const { transport } = phone.engine;
    phone.engine.transport = {
      request: async (request) => {
        if (phone.store.waitingOperations === 0) throw new Error("There is no network.");
        return transport.request(request);
      },
    };
    await assert.rejects(phone.sync());
    assert.equal(phone.store.waitingOperations, 0);
    assert.ok(phone.store.zones().some(({ zone, isWhole }) => zone === here && !isWhole));
    phone.engine.transport = transport;
    await restore();
    await phone.sync();
    const [{ problem, operations }] = phone.store.quarantined();
    assert.equal(problem.code, "change-set-lost");
    assert.equal(isCreate ? operations[0].columns.title : operations[0].columns.note, isCreate ? "Rope" : "Two poles");
    if (isCreate) assert.equal(phone.store.get("items", id), undefined);
    await expectAgreement(await fresh(), phone, laptop);
  });
}
