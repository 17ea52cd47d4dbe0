// What a device has while the zones of a restored server are on their way. docs/RESTORING.md, section 4.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Device, expectAgreement, falsify } from "./devices.js";
import { folder, run, Server } from "./server.js";

const text = { type: "text" };
const form = {
  holdfast: 1, name: "recovery", tables: {
    lists: { zone: "root", columns: { title: text } },
    items: { zone: { parent: "list" }, columns: { list: { type: "reference", to: "lists", required: true, on_delete: "cascade" }, title: text, note: text } },
  },
};

/** Puts so much into a list that it comes in two parts. */
async function fill(device, list) {
  for (let count = 0; count < 2; count++) {
    await device.write((db) => { for (let number = 0; number < 300; number++) db.insert("items", { list, title: "big", note: "x".repeat(9000) }); });
  }
  await device.sync();
  await device.sync();
}

/** A phone and a laptop of ada, and a list. */
async function open(t) {
  const schema = join(folder(t), "recovery.json");
  writeFileSync(schema, JSON.stringify(form));
  const server = await Server.start(t, { schema });
  const backup = join(folder(t), "backup");
  const phone = await Device.signUp("ada", { server, schema });
  const laptop = await Device.signIn("ada", { server, schema });
  const list = await phone.write((db) => db.insert("lists", { title: "Here" }));
  return {
    server, phone, laptop, list,
    backUp: () => run("backup", "--data", server.data, backup),
    restore: async () => {
      await server.kill();
      run("restore", "--replace", "--data", server.data, backup);
      await server.start();
    },
    fresh: async () => {
      const device = await Device.signIn("ada", { server, schema });
      await device.sync();
      return device;
    },
  };
}

test("edits wait until a restored zone has come with all its parts, and records deleted meanwhile do not come back (I3, I8)", async (t) => {
  const { phone, laptop, list, backUp, restore, fresh } = await open(t);
  await fill(phone, list);
  backUp();
  const [tent, peg] = await phone.write((db) => ["Tent", "Peg"].map((title) => db.insert("items", { list, title })));
  await phone.sync();
  await phone.sync();
  await laptop.sync();
  await phone.write((db) => db.update("items", tent, { note: "unsent" }));
  await phone.write((db) => db.delete("items", peg));
  await restore();
  await phone.sync();
  assert.deepEqual(phone.store.quarantined(), []);
  await expectAgreement(phone, laptop, await fresh());
  assert.deepEqual([laptop.store.get("items", tent).note, laptop.store.get("items", peg)], ["unsent", undefined]);
});

test("a zone that was resynced already when the server was restored brings nothing back that was deleted (I8)", async (t) => {
  const { server, phone, laptop, list, backUp, restore, fresh } = await open(t);
  const tent = await phone.write((db) => db.insert("items", { list, title: "Tent" }));
  await phone.sync();
  await laptop.sync();
  await laptop.write((db) => db.delete("items", tent));
  await fill(laptop, list);
  // The tombstone is purged, and the phone has not heard of it.
  await server.kill();
  execFileSync("sqlite3", [join(server.data, "holdfast.db"), `
    UPDATE holdfast_zones SET purged = (SELECT max(seq) FROM holdfast_tombstones) WHERE zone = '${list}'; DELETE FROM holdfast_tombstones WHERE zone = '${list}'`]);
  await server.start();
  backUp();
  await laptop.write((db) => db.update("lists", list, { title: "Lost title" }));
  await laptop.sync();
  await laptop.sync();
  // The phone gets the first part of two.
  const { transport } = phone.engine;
  let isCut = false;
  phone.engine.transport = {
    request: async (request) => {
      if (isCut) throw new Error("There is no network.");
      const answer = await transport.request(request);
      isCut = JSON.parse(answer.body).zones.some(({ more }) => more);
      return answer;
    },
  };
  await assert.rejects(phone.sync());
  assert.ok(phone.store.zones().some(({ zone, isWhole }) => zone === list && !isWhole));
  phone.engine.transport = transport;
  await restore();
  await phone.sync();
  const other = await fresh();
  assert.equal(other.store.get("items", tent), undefined);
  await expectAgreement(phone, laptop, other);
  assert.deepEqual([phone.store.get("items", tent), phone.store.get("lists", list).title], [undefined, "Lost title"]);
});

test("a record that was deleted is not shown again while a restored server is still to be told (I8)", async (t) => {
  const { phone, laptop, list, backUp, restore, fresh } = await open(t);
  const tent = await phone.write((db) => db.insert("items", { list, title: "Tent" }));
  await phone.sync();
  await laptop.sync();
  backUp();
  await phone.write((db) => db.delete("items", tent));
  await phone.sync();
  await laptop.sync();
  await restore();
  const shown = [];
  laptop.store.live((db) => db.get("items", tent), (item) => shown.push(item));
  await laptop.sync();
  assert.ok(shown.length > 1 && shown.every((item) => item === undefined), JSON.stringify(shown));
  const other = await fresh();
  assert.equal(other.store.get("items", tent), undefined);
  await expectAgreement(laptop, phone, other);
});

test("edits do not wait for a zone of a restored server that waits for its resync (I12)", async (t) => {
  const { phone, laptop, list, backUp, restore } = await open(t);
  await phone.sync();
  backUp();
  const tent = await phone.write((db) => db.insert("items", { list, title: "Tent" }));
  await phone.sync();
  await phone.sync();
  await restore();
  // The server asks again for what it has asked for.
  const isRestored = () => phone.store.state.store("zones").get(list).resync === "restored";
  const answers = falsify(phone, (form) => { if (isRestored()) form.zones = [{ zone: list, reset: true }]; });
  const other = await phone.write((db) => db.insert("lists", { title: "Other" }));
  await phone.sync();
  assert.ok(answers.count < 10, `${answers.count} requests`);
  assert.deepEqual([phone.store.waitingOperations, isRestored()], [0, true]);
  await laptop.sync();
  assert.equal(laptop.store.get("lists", other).title, "Other");
  assert.equal(phone.store.get("items", tent).title, "Tent");
});

test("a sign-out removes nothing that a restored server may lack, unless it is forced (I2)", async (t) => {
  const { phone, laptop, list, backUp, restore } = await open(t);
  await phone.sync();
  backUp();
  await phone.write((db) => db.insert("items", { list, title: "Tent" }));
  await phone.sync();
  await phone.sync();
  await restore();
  // The network goes behind each answer.
  const { transport } = phone.engine;
  const isRestored = () => phone.store.state.store("zones").get(list).resync === "restored";
  const hasRecovered = () => (phone.store.state.store("recovered")?.size ?? 0) > 0;
  const seen = new Set();
  for (let isDone = false; !isDone;) {
    let isSent = false;
    phone.engine.transport = {
      request: async (request) => {
        if (isSent || request.path !== "v1/sync") throw new Error("There is no network.");
        isSent = true;
        return transport.request(request);
      },
    };
    isDone = await phone.sync().then(() => true, () => false);
    if (!isRestored() && !hasRecovered()) continue;
    seen.add(isRestored() ? "restored" : "recovered");
    await assert.rejects(phone.engine.signOut({ erases: true }), RangeError);
  }
  assert.deepEqual([...seen], ["restored", "recovered"]);
  phone.engine.transport = transport;
  await phone.engine.signOut({ erases: true });
  assert.deepEqual(phone.store.all("items"), []);
  await laptop.sync();
  assert.deepEqual(laptop.store.all("items").map(({ title }) => title), ["Tent"]);
});
