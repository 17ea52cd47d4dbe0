// Work that does not grow with what the device has already, counted and not timed.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { MemoryStorage } from "../index.js";
import { Draft } from "../src/state.js";
import { Device, expectAgreement } from "./devices.js";
import { folder, Server } from "./server.js";

const form = {
  holdfast: 1, name: "growth", tables: {
    lists: { zone: "root", columns: { title: { type: "text" } } },
    items: {
      zone: { parent: "list" }, columns: {
        list: { type: "reference", to: "lists", required: true, on_delete: "cascade" }, code: { type: "text" }, place: { type: "integer" },
        under: { type: "reference", to: "items", on_delete: "cascade" }, note: { type: "text" },
      }, unique: [["code"], ["place", "note"]],
    },
  },
};

async function start(t) {
  const schema = join(folder(t), "growth.json");
  writeFileSync(schema, JSON.stringify(form));
  const server = await Server.start(t, { schema });
  return { server, schema };
}

/** Counts what a method of drafts gives. */
function count(t, method) {
  const counted = { calls: 0, records: 0 };
  const original = Draft.prototype[method];
  t.mock.method(Draft.prototype, method, function (name) {
    const found = [...original.call(this, name)];
    if (method === "records" || name === "quarantine") counted.calls += 1;
    counted.records += found.length;
    return found;
  });
  return counted;
}

/** A storage that keeps the size of each commit. */
class MeasuringStorage extends MemoryStorage {
  sizes = [];

  commit(version, changes) {
    this.sizes.push(JSON.stringify(changes).length);
    return super.commit(version, changes);
  }
}

test("an edit that waits is not stored again with the next one (I2)", async (t) => {
  const { server, schema } = await start(t);
  const storage = new MeasuringStorage();
  const phone = await Device.signUp("ada", { server, schema, storage });
  const note = (number) => `${number} `.padEnd(2000, "x");
  const [list, item] = await phone.write((db) => {
    const list = db.insert("lists", { title: "Groceries" });
    return [list, db.insert("items", { list, note: note(0) })];
  });
  await phone.sync();
  for (let number = 1; number <= 40; number++) await phone.write((db) => db.update("items", item, { note: note(number) }));
  const { sizes } = storage;
  assert.ok(sizes.at(-1) < 1.1 * sizes.at(-39), `${sizes.at(-39)} and ${sizes.at(-1)} characters`);

  // Another store of the same storage has them all, in their order, and drops those that are confirmed or refused.
  const tab = await Device.open({ server, schema, storage });
  assert.deepEqual(tab.store.state.store("dirty"), phone.store.state.store("dirty"));
  assert.equal(tab.store.get("items", item).note, note(40));
  const laptop = await Device.signIn("ada", { server, schema });
  await laptop.sync();
  await laptop.write((db) => db.insert("items", { list, code: "taken" }));
  await laptop.sync();
  await tab.write((db) => db.update("items", item, { code: "taken" }));
  await tab.write((db) => db.update("items", item, { place: 1 }));
  await phone.store.catchUp();
  await phone.sync();
  await tab.store.catchUp();
  assert.deepEqual(tab.store.quarantined().map(({ problem }) => problem.code), ["unique-taken"]);
  assert.deepEqual([...storage.entries.values()].filter(([name]) => name === "steps" || name === "dirty"), []);
  await expectAgreement(phone, laptop, tab);
  assert.deepEqual([laptop.store.get("items", item).note, laptop.store.get("items", item).place], [note(40), 1]);
});

test("a storage of an earlier client, with all edits of a record in one entry, is read and goes on (I3)", async (t) => {
  const { server, schema } = await start(t);
  const storage = new MemoryStorage();
  const phone = await Device.signUp("ada", { server, schema, storage });
  const list = await phone.write((db) => db.insert("lists", { title: "Groceries" }));
  await phone.sync();
  for (const title of ["Food", "Hardware"]) await phone.write((db) => db.update("lists", list, { title }));
  for (const key of [...storage.entries.keys()]) if (key.startsWith("steps\0")) storage.entries.delete(key);
  const [name, key, dirty] = ["dirty", `lists/${list}`, phone.store.state.store("dirty").get(`lists/${list}`)];
  storage.entries.set(`${name}\0${key}`, [name, key, { ...dirty, steps: dirty.steps.map(({ number: _, ...step }) => step) }]);

  const tab = await Device.open({ server, schema, storage });
  await tab.write((db) => db.update("lists", list, { title: "Books" }));
  const again = await Device.open({ server, schema, storage });
  assert.deepEqual(again.store.state.store("dirty").get(key).steps.map(({ columns }) => columns.title), ["Food", "Hardware", "Books"]);
  assert.deepEqual(tab.store.state.store("dirty"), again.store.state.store("dirty"));
  await again.sync();
  assert.deepEqual([...storage.entries.values()].filter(([store]) => store === "steps" || store === "dirty"), []);
  await expectAgreement(again, await Device.signIn("ada", { server, schema }));
});

test("new records are not compared with each one that is there, and unique values still are", async (t) => {
  const { server, schema } = await start(t);
  const phone = await Device.signUp("ada", { server, schema });
  const insert = (count, name) => phone.write((db) => {
    const list = db.insert("lists", {});
    return [list, ...Array.from({ length: count }, (_, number) => db.insert("items", { list, code: `${name}${number}`, place: number, note: name }))];
  });
  const [list, first, second] = await insert(200, "a");
  const counted = count(t, "records");
  await phone.write((db) => { for (let number = 0; number < 100; number++) db.insert("items", { list: db.insert("lists", {}), code: "a0" }); });
  assert.ok(counted.records < 2000, `${counted.records} records were looked at`);

  const taken = { code: "unique-taken" };
  await assert.rejects(phone.write((db) => db.insert("items", { list, code: "a7" })), taken);
  await assert.rejects(phone.write((db) => { for (const code of ["b", "b"]) db.insert("items", { list, code }); }), taken);
  await assert.rejects(phone.write((db) => db.insert("items", { list, place: 7, note: "a" })), taken);
  await phone.write((db) => {
    db.update("items", first, { code: "a1" });
    db.update("items", second, { code: "a0", place: null });
    db.insert("items", { list, place: 1, note: "a" });
    for (const place of [null, null]) db.insert("items", { list, place, note: "a" });
  });
  // What is moved takes along what is below it.
  const other = await phone.write((db) => db.insert("lists", {}));
  await phone.write((db) => db.update("items", first, { list: other }));
  assert.equal(phone.store.get("items", first).zone, other);
  await phone.sync();
  assert.deepEqual(phone.store.quarantined(), []);
});

test("what goes with a record, and what an undo may delete, is not looked for among all records each time", async (t) => {
  const { server, schema } = await start(t);
  const phone = await Device.signUp("ada", { server, schema });
  const [list, first] = await phone.write((db) => {
    const list = db.insert("lists", {});
    const items = [];
    for (let number = 0; number < 300; number++) items.push(db.insert("items", { list, under: items.at(-1) ?? null }));
    return [list, ...items];
  });
  const counted = count(t, "records");
  await phone.write((db) => db.delete("items", first));
  await phone.store.undo();
  await phone.write((db) => db.delete("lists", list));
  await phone.store.undo();
  await phone.store.undo();
  assert.equal(phone.store.all("items").length, 0);
  assert.ok(counted.records < 15_000, `${counted.records} records were looked at`);
});

test("a chain of records as long as a change set is deleted and comes back", async (t) => {
  const { server, schema } = await start(t);
  const phone = await Device.signUp("ada", { server, schema });
  const [, first] = await phone.write((db) => {
    const list = db.insert("lists", {});
    const items = [];
    for (let number = 0; number < 9000; number++) items.push(db.insert("items", { list, under: items.at(-1) ?? null }));
    return [list, items[0]];
  });
  await phone.write((db) => db.delete("items", first));
  assert.equal(phone.store.all("items").length, 0);
  await phone.sync();
  assert.deepEqual([phone.store.quarantined(), phone.store.waitingOperations], [[], 0]);
});

test("refused dependents find the set without which they failed, without reading all of the quarantine each time (I3)", async (t) => {
  const { server, schema } = await start(t);
  const phone = await Device.signUp("ada", { server, schema });
  const list = await phone.write((db) => db.insert("lists", {}));
  await phone.sync();
  const laptop = await Device.signIn("ada", { server, schema });
  await laptop.sync();
  const parent = await laptop.write((db) => db.insert("items", { list, code: "x" }));
  let under = parent;
  for (let number = 0; number < 30; number++) under = await laptop.write((db) => db.insert("items", { list, under, note: String(number) }));
  await phone.write((db) => db.insert("items", { list, code: "x" }));
  await phone.sync();
  const counted = count(t, "sorted");
  await laptop.sync();
  assert.ok(counted.calls < 5, `the quarantine was read ${counted.calls} times`);
  const [first, ...dependents] = laptop.store.quarantined();
  assert.deepEqual([first.problem.code, first.because], ["unique-taken", null]);
  assert.deepEqual(dependents.map(({ because }) => because), Array(30).fill(first.number));
});
