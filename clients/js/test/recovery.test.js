// What devices give back to a server that was restored, while others have gone on.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
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

/** The parts of an answer are in the order of their zones. */
const zones = ["01900000-0000-7000-8000-000000000001", "01900000-0000-7000-8000-000000000002"];

/** A server, a phone and a laptop of ada, and two lists; one has a tent and a peg. */
async function open(t, { isLate = false } = {}) {
  const schema = join(folder(t), "recovery.json");
  writeFileSync(schema, JSON.stringify(form));
  const server = await Server.start(t, { schema });
  const backup = join(folder(t), "backup");
  const phone = await Device.signUp("ada", { server, schema });
  const laptop = await Device.signIn("ada", { server, schema });
  const [here, there] = isLate ? [...zones].reverse() : zones;
  const [tent, peg] = await laptop.write((db) => {
    db.insert("lists", { id: here, title: "Here" });
    db.insert("lists", { id: there, title: "There" });
    return ["Tent", "Peg"].map((title) => db.insert("items", { list: here, title }));
  });
  await laptop.sync();
  await phone.sync();
  run("backup", "--data", server.data, backup);
  return {
    server, phone, laptop, here, there, tent, peg,
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
async function lostMove(t, { edits = 0, isLate, goOn }) {
  const all = await open(t, { isLate });
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

for (const isLate of [false, true]) {
  const order = isLate ? "behind" : "before";

  test(`a move that a restored server has lost deletes no record, when its zone comes ${order} the other one (I3, I8)`, async (t) => {
    const { laptop, fresh, tent } = await lostMove(t, { isLate, goOn: (db, { there }) => db.delete("lists", there) });
    await laptop.sync();
    assert.equal(laptop.store.get("items", tent)?.title, "Tent");
    assert.equal((await fresh()).store.get("items", tent)?.title, "Tent");
  });

  test(`what a restored server has lost of a record that was deleted since in its zone of before is logged, when that zone comes ${order} the other one (I3, I8)`, async (t) => {
    const { phone, laptop, tent } = await lostMove(t, { edits: 2, isLate, goOn: (db, { tent }) => db.delete("items", tent) });
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
