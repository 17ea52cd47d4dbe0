// The update of an app brings what its device keeps to the new schema, without a network.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Device, expectAgreement } from "./devices.js";
import { folder, jotSchema, Server } from "./server.js";

/** A copy of Jot's schema, changed. @returns its path. */
function schema(t, change) {
  const form = JSON.parse(readFileSync(jotSchema, "utf8"));
  change(form.tables);
  const path = join(folder(t), "changed.json");
  writeFileSync(path, JSON.stringify(form));
  return path;
}

const renamed = (tables) => {
  const { title, ...columns } = tables.items.columns;
  tables.entries = { ...tables.items, was: ["items"], columns: { ...columns, heading: { ...title, was: ["title"] }, price: { type: "integer", required: true, default: 7 } } };
  delete tables.items;
};

async function restart(server, path, ...more) {
  await server.kill();
  server.schema = path;
  server.more = more;
  await server.start();
}

/** The names of the stores and the keys of the edits that a device has. */
const leftovers = (device, name) => [...device.storage.entries.keys()].filter((key) => key.includes(name));

test("records and edits have their new names at once, also without a network (I3)", async (t) => {
  const server = await Server.start(t);
  const phone = await Device.signUp("ada", { server });
  const list = await phone.makeList("Groceries", "Milk", "Bread", "Tea");
  await phone.sync();
  const [milk, bread, tea] = ["Milk", "Bread", "Tea"].map((title) => phone.item(title).id);
  await phone.write((db) => db.delete("items", tea));
  await phone.sync();
  await phone.write((db) => {
    db.update("items", milk, { title: "Oat milk" });
    db.increment("items", milk, "amount", 4);
    db.delete("items", bread);
  });
  const soap = await phone.write((db) => {
    const [position] = db.positions("items", 1, "last", { parent: list });
    return db.insert("items", { list_id: list, title: "Soap", position });
  });

  const path = schema(t, renamed);
  const updated = await Device.open({ server, storage: phone.storage, schema: path });
  const shown = () => updated.store.all("entries", { order: ["heading"] }).map(({ id, heading, amount, price }) => [id, heading, amount, price]);
  const expected = [[milk, "Oat milk", 5, 7], [soap, "Soap", 1, 7]];
  assert.deepEqual(shown(), expected);
  assert.deepEqual(updated.store.reader().unsent("entries", milk).sort(), ["amount", "heading"]);
  assert.deepEqual(leftovers(updated, "items"), []);
  // What there was to undo is told by the names of before.
  assert.equal(await updated.store.undo(), null);
  await updated.write((db) => db.update("entries", soap, { heading: "Green soap" }));

  await restart(server, path);
  await updated.sync();
  expected[1][1] = "Green soap";
  assert.deepEqual(shown().sort(), expected.sort());
  assert.deepEqual(updated.store.quarantined(), []);
  assert.deepEqual(leftovers(updated, "items"), []);
  await expectAgreement(updated, await Device.signIn("ada", { server, schema: path }));
});

test("a conflict is resolved under the new names", async (t) => {
  const server = await Server.start(t);
  const phone = await Device.signUp("ada", { server });
  await phone.makeList("Groceries", "Milk");
  await phone.sync();
  const laptop = await Device.signIn("ada", { server });
  await laptop.sync();
  const { id } = phone.item("Milk");
  await phone.write((db) => db.update("items", id, { title: "Oat milk" }));
  await laptop.write((db) => db.update("items", id, { title: "Rice milk" }));
  await phone.sync();
  await laptop.sync();
  const path = schema(t, renamed);
  const updated = await Device.open({ server, storage: laptop.storage, schema: path });
  const [conflict] = updated.store.all("conflicts");
  assert.deepEqual([conflict.record_table, conflict.column_name], ["entries", "heading"]);
  await updated.write((db) => db.resolve(conflict.id, "loser"));
  assert.equal(updated.store.get("entries", id).heading, conflict.loser_value);
  await restart(server, path);
  await expectAgreement(updated, await Device.signIn("ada", { server, schema: path }));
});

for (const isKnown of [true, false]) {
  test(`what belongs to removed tables and columns goes, and waiting edits are sent to a server that ${isKnown ? "has them still" : "has them no more"} (I1, I3)`, async (t) => {
    const server = await Server.start(t);
    const phone = await Device.signUp("ada", { server });
    const list = await phone.makeList("Groceries", "Milk");
    await phone.sync();
    const { id } = phone.item("Milk");
    await phone.write((db) => db.update("items", id, { note: "whole" }));
    const sent = [...phone.storage.entries.values()].filter(([store]) => store === "outbox").map(([, , { body }]) => body);

    const without = schema(t, (tables) => { delete tables.items.columns.note; });
    const updated = await Device.open({ server, storage: phone.storage, schema: without });
    assert.deepEqual([updated.item("Milk").note, updated.store.waitingOperations], [undefined, 1]);
    assert.deepEqual(updated.store.undoable, { undo: false, redo: false });
    assert.deepEqual([...phone.storage.entries.values()].filter(([store]) => store === "outbox").map(([, , { body }]) => body), sent);
    if (!isKnown) await restart(server, without, "--allow-removals");
    await updated.sync();
    assert.deepEqual(updated.store.quarantined().map(({ problem }) => problem.code), isKnown ? [] : ["unknown-column"]);
    await expectAgreement(updated, await Device.signIn("ada", { server, schema: without }));

    const empty = schema(t, (tables) => { delete tables.items; });
    const last = await Device.open({ server, storage: phone.storage, schema: empty });
    assert.deepEqual(leftovers(last, "records/items"), []);
    await last.sync();
    assert.deepEqual(last.store.all("lists").map(({ id }) => id), [list]);
    await expectAgreement(last, await Device.signIn("ada", { server, schema: empty }));
  });
}

test("an older app shows the emptiest values of required columns that the server has no more, and leaves out what has no parent (I9)", async (t) => {
  const files = folder(t);
  const text = { type: "text", required: true };
  const reference = { type: "reference", to: "lists", required: true, on_delete: "cascade" };
  const save = (name, columns) => {
    const tables = { lists: { zone: "root", columns: { title: text } } };
    for (const [table, more] of Object.entries(columns)) tables[table] = { zone: { parent: "list" }, columns: { list: reference, ...more } };
    writeFileSync(join(files, name), JSON.stringify({ holdfast: 1, name: "removals", tables }));
    return join(files, name);
  };
  const numbers = { count: { type: "integer", required: true }, done: { type: "boolean", required: true }, on: { type: "timestamp", required: true } };
  const path = save("old.json", { items: { title: text, ...numbers }, links: { other: reference, note: { type: "text" } } });
  const server = await Server.start(t, { schema: path });
  const phone = await Device.signUp("ada", { server, schema: path });
  const [list, item] = await phone.write((db) => {
    const list = db.insert("lists", { title: "Groceries" });
    const item = db.insert("items", { list, title: "Milk", count: 3, done: true, on: "2026-11-21T10:00:00.000Z" });
    db.insert("links", { list, other: list, note: "same" });
    return [list, item];
  });
  await phone.sync();
  await restart(server, save("new.json", { items: {}, links: { note: { type: "text" } } }), "--allow-removals");
  const old = await Device.signIn("ada", { server, schema: path });
  for (const device of [phone, old]) {
    await device.sync();
    const { id, title, count, done, on } = device.store.get("items", item);
    assert.deepEqual([id, title, count, done, on], [item, "", 0, false, "1970-01-01T00:00:00.000Z"]);
    assert.deepEqual(device.store.all("links"), []);
    assert.equal(device.store.get("lists", list).title, "Groceries");
  }
});

/** A schema of lists with these columns. @returns its path. */
function lists(t, columns) {
  const path = join(folder(t), "lists.json");
  writeFileSync(path, JSON.stringify({ holdfast: 1, name: "lists", tables: { lists: { zone: "root", columns: { title: { type: "text" }, ...columns } } } }));
  return path;
}

test("an older app shows the emptiest values of columns whose names the server has for columns of another type, and syncs (I3, I12)", async (t) => {
  const older = lists(t, {
    price: { type: "integer", required: true, default: 7 }, count: { type: "real" }, at: { type: "timestamp", required: true }, done: { type: "boolean", required: true },
    doc: { type: "json" }, note: { type: "text", required: true },
  });
  const newer = lists(t, {
    price: { type: "text" }, count: { type: "boolean" }, at: { type: "integer" }, done: { type: "text" }, doc: { type: "integer" }, note: { type: "text" },
  });
  const server = await Server.start(t, { schema: older });
  const phone = await Device.signUp("ada", { server, schema: older });
  const list = await phone.write((db) => db.insert("lists", { title: "Groceries", price: 3, count: 1.5, at: "2026-11-21T10:00:00.000Z", done: true, note: "x" }));
  await phone.sync();
  await restart(server, lists(t, {}), "--allow-removals");
  await restart(server, newer);
  const laptop = await Device.signIn("ada", { server, schema: newer });
  await laptop.sync();
  await laptop.write((db) => db.update("lists", list, { title: "Food", price: "cheap", count: true, at: 9, done: "yes", doc: 5 }));
  await laptop.sync();
  const old = await Device.signIn("ada", { server, schema: older });
  await phone.write((db) => db.update("lists", list, { title: "Meals" }));
  for (const device of [phone, old, phone]) await device.sync();
  await old.sync();
  for (const device of [phone, old]) {
    const { id, zone, rev, ...values } = device.store.get("lists", list);
    assert.deepEqual(values, { title: "Meals", price: 7, count: null, at: "1970-01-01T00:00:00.000Z", done: false, doc: 5, note: "" });
  }
});

test("an updated app fetches columns again whose type, target or being required is another, and keeps its edits (I1, I3, I7)", async (t) => {
  const reference = { type: "reference", to: "lists", across: true, on_delete: "set_null" };
  const older = lists(t, {
    price: { type: "integer" }, count: { type: "real" }, at: { type: "text" }, doc: { type: "text" }, place: { type: "text" }, note: { type: "text" }, other: reference,
  });
  const newer = lists(t, {
    price: { type: "text" }, count: { type: "boolean", required: true, default: false }, at: { type: "timestamp" }, doc: { type: "json" }, place: { type: "position" },
    note: { type: "text", required: true, default: "none" }, other: { ...reference, to: "users" },
  });
  const form = JSON.parse(readFileSync(newer, "utf8"));
  form.tables.users = { zone: "user", columns: { name: { type: "text" } } };
  writeFileSync(newer, JSON.stringify(form));
  const server = await Server.start(t, { schema: older });
  const phone = await Device.signUp("ada", { server, schema: older });
  const [list, unsent] = await phone.write((db) => {
    const list = db.insert("lists", { title: "Groceries", price: 3, count: 1.5, at: "noon", doc: "{", place: "here" });
    db.update("lists", list, { other: list });
    return [list, db.insert("lists", { title: "Tools" })];
  });
  await phone.sync();
  await phone.write((db) => db.update("lists", unsent, { title: "Tools and nails" }));
  await phone.write((db) => db.update("lists", list, { price: 4, doc: "[", at: "night" }));
  const third = await phone.write((db) => db.insert("lists", { title: "Books", price: 5, doc: "]" }));

  await restart(server, lists(t, {}), "--allow-removals");
  await restart(server, newer);
  const laptop = await Device.signIn("ada", { server, schema: newer });
  await laptop.sync();
  await laptop.write((db) => db.update("lists", list, { price: "cheap", count: true, doc: [1] }));
  await laptop.sync();

  const updated = await Device.open({ server, storage: phone.storage, schema: newer });
  const values = (device, id) => {
    const { title, price, count, at, doc, place, note } = device.store.get("lists", id);
    return [title, price, count, at, doc, place, note];
  };
  assert.deepEqual(values(updated, list), ["Groceries", null, false, null, null, null, "none"]);
  assert.deepEqual(values(updated, third), ["Books", null, false, null, null, null, "none"]);
  await updated.write((db) => db.update("lists", unsent, { doc: { n: 1 } }));
  await updated.sync();
  assert.deepEqual(values(updated, list), ["Groceries", "cheap", true, null, [1], null, "none"]);
  assert.deepEqual(values(updated, unsent).slice(0, 5), ["Tools and nails", null, false, null, { n: 1 }]);
  assert.equal(updated.store.get("lists", third), undefined);
  const quarantined = updated.store.quarantined().map(({ problem, operations: [{ columns }] }) => [problem.code, columns.price]);
  assert.deepEqual(quarantined, [["invalid-value", 4], ["invalid-value", 5]]);
  await expectAgreement(updated, await Device.signIn("ada", { server, schema: newer }));
});

test("a new column has its default, also one with a name that objects of JavaScript have", async (t) => {
  const server = await Server.start(t);
  const phone = await Device.signUp("ada", { server });
  await phone.makeList("Groceries", "Milk");
  const path = schema(t, (tables) => { tables.items.columns.constructor = { type: "text", required: true, default: "factory" }; });
  const tablet = await Device.open({ server, storage: phone.storage, schema: path });
  assert.equal(tablet.item("Milk").constructor, "factory");
  assert.equal(structuredClone(tablet.item("Milk")).constructor, "factory");
  await restart(server, path);
  await expectAgreement(tablet, await Device.signIn("ada", { server, schema: path }));
});
