// Refused change sets that are sent again, by a person or by themselves. docs/PROTOCOL.md, section 6.6; docs/SCHEMA-CHANGES.md, section 3.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Device, expectAgreement } from "./devices.js";
import { folder, Server } from "./server.js";

const form = (more = {}) => ({
  holdfast: 1, name: "lists", tables: {
    lists: { zone: "root", columns: { title: { type: "text", max_length: 20 }, ...more } },
    items: { zone: { parent: "list" }, columns: { list: { type: "reference", to: "lists", required: true, on_delete: "cascade" }, title: { type: "text" } } },
  },
});

/** A phone whose app is newer than the server, and a laptop whose app is not. */
async function start(t) {
  const files = folder(t);
  const [older, newer] = [join(files, "older.json"), join(files, "newer.json")];
  writeFileSync(older, JSON.stringify(form()));
  writeFileSync(newer, JSON.stringify(form({ price: { type: "integer" } })));
  const server = await Server.start(t, { schema: older });
  const phone = await Device.signUp("ada", { server, schema: newer });
  const laptop = await Device.signIn("ada", { server, schema: older });
  const update = async () => {
    await server.kill();
    server.schema = newer;
    await server.start();
  };
  const list = await phone.write((db) => db.insert("lists", { title: "First" }));
  await expectBoth(phone, laptop);
  return { newer, phone, laptop, list, update };
}

/** The laptop shows no prices. */
async function expectBoth(...devices) {
  for (let count = 0; count < 2; count++) for (const device of devices) await device.sync();
}

const codes = (device) => device.store.quarantined().map(({ problem }) => problem.code);

test("what the server did not know is not sent again by itself when the record has gone on (I3)", async (t) => {
  const { phone, laptop, list, update } = await start(t);
  await phone.write((db) => db.update("lists", list, { title: "Second", price: 5 }));
  await phone.sync();
  assert.deepEqual([codes(phone), phone.store.get("lists", list).title], [["unknown-column"], "First"]);
  await laptop.write((db) => db.update("lists", list, { title: "Third" }));
  await expectBoth(laptop, phone);
  await update();
  await expectBoth(phone, laptop);
  assert.deepEqual([phone, laptop].map((device) => device.store.get("lists", list).title), ["Third", "Third"]);
  // A person decides.
  const [{ number }] = phone.store.quarantined();
  await phone.store.resend(number);
  await expectBoth(phone, laptop);
  assert.deepEqual([laptop.store.get("lists", list).title, phone.store.get("lists", list).price], ["Second", 5]);
});

test("what the server did not know is not sent again by itself when it deletes a record (I3)", async (t) => {
  const { phone, laptop, list, update } = await start(t);
  const other = await phone.write((db) => db.insert("lists", { title: "Other" }));
  await expectBoth(phone, laptop);
  await phone.write((db) => {
    db.update("lists", other, { price: 5 });
    db.delete("lists", list);
  });
  await phone.sync();
  await laptop.write((db) => db.insert("items", { list, title: "Milk" }));
  await expectBoth(laptop, phone);
  await update();
  await expectBoth(phone, laptop);
  assert.deepEqual([codes(phone), laptop.store.all("items").map(({ title }) => title)], [["unknown-column"], ["Milk"]]);
});

test("what the server did not know is not sent again by itself when its record was deleted behind it (I8)", async (t) => {
  const { phone, laptop, update } = await start(t);
  const list = await phone.write((db) => db.insert("lists", { title: "Second", price: 5 }));
  const kept = await phone.write((db) => db.insert("lists", { title: "Third", price: 6 }));
  await phone.write((db) => db.delete("lists", list));
  await expectBoth(phone, laptop);
  assert.deepEqual(codes(phone), ["unknown-column", "unknown-column"]);
  await update();
  await expectBoth(phone, laptop);
  assert.deepEqual(codes(phone), ["unknown-column"]);
  assert.deepEqual([phone, laptop].map((device) => [Boolean(device.store.get("lists", list)), Boolean(device.store.get("lists", kept))]), [[false, true], [false, true]]);
});

test("what the server did not know is sent again in the transaction of the answer, and one that can't be stops no other (I3, I12)", async (t) => {
  const { newer, phone, laptop, list, update } = await start(t);
  const other = await phone.write((db) => db.insert("lists", { title: "Other" }));
  await phone.write((db) => db.insert("items", { list: other, title: "Milk" }));
  await expectBoth(phone, laptop);
  await phone.write((db) => {
    db.update("lists", list, { price: 4 });
    db.insert("items", { list: other, title: "Bread" });
  });
  await phone.write((db) => db.update("lists", list, { price: 5, title: "Second" }));
  await laptop.write((db) => db.delete("lists", other));
  await expectBoth(phone, laptop);
  assert.deepEqual(codes(phone), ["unknown-column", "unknown-column"]);
  await update();
  // The page ends with the answer.
  const { transport } = phone.engine;
  phone.engine.transport = { request: async (request) => transport.request(request).finally(() => phone.store.observers.add(() => phone.engine.stop())) };
  await assert.rejects(phone.sync(), { code: "offline" });
  const again = await Device.open({ storage: phone.storage, schema: newer, server: { address: "" } });
  again.engine.transport = transport;
  assert.deepEqual([codes(again), again.store.waitingOperations, again.store.get("lists", list).price], [["unknown-column"], 1, 5]);
  await expectBoth(again, laptop);
  assert.deepEqual([laptop.store.get("lists", list).title, again.store.get("lists", list).price, codes(again)], ["Second", 5, ["unknown-column"]]);
  assert.deepEqual(again.store.all("items"), []);
});

test("a transaction that the server did not know is sent again as one (I6)", async (t) => {
  const { phone, laptop, update } = await start(t);
  await phone.write((db) => {
    const list = db.insert("lists", { title: "Many", price: 5 });
    for (let number = 0; number < 2500; number++) db.insert("items", { list, title: String(number) });
  });
  await phone.sync();
  assert.deepEqual(codes(phone), ["unknown-column"]);
  await update();
  const sets = [];
  phone.store.observers.add(() => sets.push(phone.store.state.store("outbox").size));
  await expectBoth(phone, laptop);
  assert.deepEqual([codes(phone), Math.max(...sets), laptop.store.all("items").length], [[], 1, 2500]);
});

test("a refused list with more behind it than a change set may have is sent again, each set as it was (I3, I6)", async (t) => {
  const files = folder(t);
  const schema = join(files, "lists.json");
  writeFileSync(schema, JSON.stringify(form()));
  const server = await Server.start(t, { schema });
  const longer = structuredClone(form());
  longer.tables.lists.columns.title.max_length = 100;
  const path = join(files, "longer.json");
  writeFileSync(path, JSON.stringify(longer));
  const phone = await Device.signUp("ada", { server, schema: path });
  const list = await phone.write((db) => db.insert("lists", { title: "A title that the server takes for too long" }));
  for (let count = 0; count < 11; count++) {
    await phone.write((db) => { for (let number = 0; number < 1000; number++) db.insert("items", { list, title: `${count} ${number}` }); });
  }
  await phone.sync();
  assert.deepEqual([codes(phone).slice(0, 2), codes(phone).length, phone.store.all("items").length], [["value-too-long", "reference-missing"], 12, 0]);
  const [{ number }] = phone.store.quarantined();
  await phone.store.resend(number, ([operation]) => { operation.columns.title = "Short"; });
  assert.deepEqual([codes(phone), phone.store.waitingOperations, phone.store.state.store("outbox").size], [[], 11_001, 12]);
  await phone.sync();
  assert.deepEqual([codes(phone), phone.store.all("items").length], [[], 11_000]);
  await expectAgreement(phone, await Device.signIn("ada", { server, schema: path }));
});

test("a refused record is sent again when the app has a column no more that was empty in it (I3)", async (t) => {
  const files = folder(t);
  const save = (name, form) => {
    writeFileSync(join(files, name), JSON.stringify(form));
    return join(files, name);
  };
  const server = await Server.start(t, { schema: save("server.json", form()) });
  const longer = structuredClone(form({ colour: { type: "text", default: "red" } }));
  longer.tables.lists.columns.title.max_length = 100;
  const older = save("older.json", longer);
  const phone = await Device.signUp("ada", { server, schema: older });
  for (const colour of [null, "blue"]) await phone.write((db) => db.insert("lists", { title: "A title that the server takes for too long", colour }));
  await phone.sync();
  const updated = await Device.open({ server, storage: phone.storage, schema: server.schema });
  const [empty, blue] = updated.store.quarantined();
  assert.deepEqual([empty, blue].map(({ operations: [{ columns }] }) => Object.keys(columns)), [["title"], ["title", "colour"]]);
  const shorten = ([operation]) => { operation.columns.title = "Short"; };
  await updated.store.resend(empty.number, shorten);
  await assert.rejects(updated.store.resend(blue.number, shorten), /no column colour/);
  await updated.store.resend(blue.number, ([operation]) => { operation.columns = { title: "Short" }; });
  await updated.sync();
  assert.deepEqual([updated.store.quarantined(), updated.store.all("lists").length], [[], 2]);
});
