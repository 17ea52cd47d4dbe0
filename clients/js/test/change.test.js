// Schemas that change, requests that the server can't take, public zones.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Device, expectAgreement } from "./devices.js";
import { folder, jotSchema, Server } from "./server.js";

/** A copy of Jot's schema, changed. @returns its path. */
function schema(path, change) {
  const form = JSON.parse(readFileSync(jotSchema, "utf8"));
  change(form.tables);
  writeFileSync(path, JSON.stringify(form));
  return path;
}

const withPrice = (tables) => { tables.items.columns.price = { type: "integer" }; };

test("an app that is newer than the server keeps what the server does not know, and sends it later (I3)", async (t) => {
  const files = folder(t);
  const server = await Server.start(t);
  const newer = schema(join(files, "newer.json"), withPrice);
  const phone = await Device.signUp("ada", { server, schema: newer });
  const list = await phone.makeList("Groceries", "Milk");
  await phone.sync();
  await phone.write((db) => db.update("items", phone.item("Milk").id, { price: 120 }));
  await phone.write((db) => db.update("items", phone.item("Milk").id, { done: true }));
  await phone.sync();
  assert.equal(phone.store.quarantined()[0].problem.code, "unknown-column");
  assert.equal(phone.item("Milk").done, true);
  // An older app shows it, and does not drop what it does not know.
  const older = await Device.open({ server, storage: phone.storage });
  const [{ number, operations }] = older.store.quarantined();
  assert.deepEqual(operations[0].columns, { price: 120 });
  await assert.rejects(older.store.resend(number), /no column price/);
  assert.equal(older.store.quarantined().length, 1);
  const updated = await Device.open({ server, storage: phone.storage, schema: newer });
  await server.kill();
  server.schema = newer;
  await server.start();
  await updated.sync();
  assert.deepEqual(updated.store.quarantined(), []);
  const laptop = await Device.signIn("ada", { server, schema: newer });
  await expectAgreement(updated, laptop);
  assert.equal(laptop.item("Milk").price, 120);
  assert.deepEqual(laptop.titles(list), ["Milk"]);
});

test("an app that is older keeps the columns that it lacks, and has them after its update", async (t) => {
  const files = folder(t);
  const newer = schema(join(files, "newer.json"), withPrice);
  const server = await Server.start(t, { schema: newer });
  const phone = await Device.signUp("ada", { server, schema: newer });
  const list = await phone.makeList("Groceries", "Milk");
  await phone.write((db) => db.update("items", phone.item("Milk").id, { price: 120 }));
  await phone.sync();
  const old = await Device.signIn("ada", { server });
  await old.sync();
  await old.write((db) => db.update("items", old.item("Milk").id, { title: "Oat milk" }));
  await old.sync();
  await old.write((db) => db.update("items", old.item("Oat milk").id, { done: true }));
  // The update of the app, with an edit that was not sent.
  const updated = await Device.open({ server, storage: old.storage, schema: newer });
  await expectAgreement(phone, updated);
  assert.deepEqual([updated.item("Oat milk").price, updated.item("Oat milk").done], [120, true]);
  assert.deepEqual(updated.titles(list), ["Oat milk"]);
});

test("renamed tables and columns are understood by apps of before and after", async (t) => {
  const files = folder(t);
  const server = await Server.start(t);
  const old = await Device.signUp("ada", { server });
  const list = await old.makeList("Groceries", "Milk");
  await old.sync();
  await server.kill();
  server.schema = schema(join(files, "renamed.json"), (tables) => {
    const { title, ...columns } = tables.items.columns;
    tables.entries = { ...tables.items, was: ["items"], columns: { ...columns, heading: { ...title, was: ["title"] } } };
    delete tables.items;
  });
  await server.start();
  const renamed = await Device.signIn("ada", { server, schema: server.schema });
  await renamed.sync();
  const [entry] = renamed.store.all("entries");
  assert.equal(entry.heading, "Milk");
  await renamed.write((db) => db.update("entries", entry.id, { heading: "Oat milk" }));
  await renamed.sync();
  await old.sync();
  assert.deepEqual(old.titles(list), ["Oat milk"]);
  await old.write((db) => db.update("items", entry.id, { title: "Rice milk" }));
  await old.sync();
  await renamed.sync();
  assert.equal(renamed.store.get("entries", entry.id).heading, "Rice milk");
  assert.deepEqual(old.store.quarantined(), []);
});

test("a set for which the server refuses the whole request goes to quarantine, and no other does (I12)", async (t) => {
  const server = await Server.start(t);
  const phone = await Device.signUp("ada", { server });
  const { transport } = phone.engine;
  phone.engine.transport = {
    request: async (request) => request.body?.includes("poison")
      ? { status: 422, body: JSON.stringify({ code: "invalid-request", status: 422, title: "The request is malformed" }), retryAfter: 0 }
      : transport.request(request),
  };
  const before = await phone.makeList("Before");
  await phone.makeList("poison");
  const after = await phone.makeList("After");
  await phone.sync();
  assert.deepEqual(phone.store.all("lists").map(({ id }) => id).sort(), [before, after].sort());
  const [set] = phone.store.quarantined();
  assert.equal(set.operations[0].columns.title, "poison");
  assert.equal(phone.store.quarantined().length, 1);
  const laptop = await Device.signIn("ada", { server });
  await expectAgreement(phone, laptop);
  // A person mends it.
  await phone.store.resend(set.number, (operations) => { operations[0].columns.title = "Good"; });
  await expectAgreement(phone, laptop);
  assert.equal(laptop.store.all("lists").length, 3);
});

test("a refused set is mended with the values of the app, and checked like any write", async (t) => {
  const server = await Server.start(t);
  const phone = await Device.signUp("ada", { server });
  const list = await phone.makeList("Groceries", "Milk");
  await phone.sync();
  const { transport } = phone.engine;
  phone.engine.transport = {
    request: async (request) => request.body?.includes("poison")
      ? { status: 422, body: JSON.stringify({ code: "invalid-request", status: 422, title: "The request is malformed" }), retryAfter: 0 }
      : transport.request(request),
  };
  const milk = phone.item("Milk").id;
  await phone.write((db) => {
    db.update("items", milk, { tags: ["poison", "cold"] });
    db.increment("items", milk, "amount", 2);
  });
  await phone.sync();
  const [{ number, operations }] = phone.store.quarantined();
  assert.deepEqual(operations[0].columns, { tags: ["poison", "cold"], amount: 3 });
  await phone.write((db) => db.increment("items", milk, "amount", 5));
  await assert.rejects(phone.store.resend(number, ([operation]) => { operation.columns.tags = [1]; }), { code: "invalid-value" });
  assert.equal(phone.store.quarantined().length, 1);
  await phone.store.resend(number, ([operation]) => { operation.columns.tags = ["cold"]; });
  assert.deepEqual(phone.store.quarantined(), []);
  const item = phone.store.get("items", milk);
  // The counter takes its step again; the tags are those of the person.
  assert.deepEqual([item.amount, item.tags], [8, ["cold"]]);
  await phone.sync();
  assert.deepEqual(phone.titles(list), ["Milk"]);
});

test("answers of proxies, and of an overloaded server, drop nothing (I3)", async (t) => {
  const server = await Server.start(t);
  const phone = await Device.signUp("ada", { server });
  await phone.makeList("Groceries");
  const { transport } = phone.engine;
  for (const [status, body] of [[400, "<html>"], [403, "{}"], [404, ""], [413, "<html>"], [429, "{}"], [500, "x"], [502, "<html>"], [503, "{}"], [200, "<html>"], [204, ""]]) {
    phone.engine.transport = { request: async () => ({ status, body, retryAfter: 0 }) };
    await assert.rejects(phone.sync(), { code: "offline" }, String(status));
    assert.equal(phone.store.waitingOperations, 1);
    assert.deepEqual(phone.store.quarantined(), []);
  }
  phone.engine.transport = transport;
  await phone.sync();
  assert.equal(phone.store.waitingOperations, 0);
});

test("a public zone is here while it is followed", async (t) => {
  const server = await Server.start(t);
  const writer = await Device.signUp("ada", { server });
  await writer.store.follow("catalogue");
  await writer.sync();
  assert.deepEqual(writer.store.zones().filter(({ zone }) => zone === "catalogue").map(({ role, isWhole }) => [role, isWhole]), [["viewer", true]]);
  // Who is no member may not write there.
  await writer.write((db) => db.insert("countries", { code: "CH", code3: "CHE", name: "Switzerland" }));
  await writer.sync();
  assert.equal(writer.store.quarantined()[0].problem.code, "role-insufficient");
  assert.deepEqual(writer.store.all("countries"), []);
  await writer.store.follow("catalogue", false);
  await writer.sync();
  assert.equal(writer.store.zones().some(({ zone }) => zone === "catalogue"), false);
  await writer.store.follow("catalogue");
  await writer.sync();
  assert.equal(writer.store.zones().some(({ zone }) => zone === "catalogue"), true);
});

test("an undo leaves what somebody else has changed since, and what others rely on", async (t) => {
  const server = await Server.start(t);
  const phone = await Device.signUp("ada", { server });
  const list = await phone.makeList("Groceries", "Milk", "Bread");
  await phone.sync();
  const laptop = await Device.signIn("ada", { server });
  await laptop.sync();
  const [milk, bread] = [phone.item("Milk").id, phone.item("Bread").id];
  await phone.write((db) => {
    db.update("items", milk, { note: "organic", tags: ["cold"] });
    db.increment("items", milk, "amount", 4);
    db.update("items", bread, { note: "rye" });
  });
  await phone.sync();
  await laptop.sync();
  await laptop.write((db) => {
    db.increment("items", milk, "amount", 2);
    db.update("items", milk, { tags: ["cold", "dairy"] });
    db.update("items", bread, { done: true });
    db.delete("items", bread);
  });
  await laptop.sync();
  await phone.sync();
  // The counter and the set are reversed by what was added; the bread is gone.
  assert.deepEqual(await phone.store.undo(), { changed: 1, kept: 1 });
  const item = phone.store.get("items", milk);
  assert.deepEqual([item.amount, item.tags, item.note], [3, ["dairy"], null]);
  // The list is in use by now.
  await laptop.write((db) => db.insert("items", { list_id: list, title: "Tea", position: db.positions("items", 1, "last", { parent: list })[0] }));
  await expectAgreement(phone, laptop);
  const { kept } = await phone.store.undo();
  assert.ok(kept > 0);
  assert.equal(phone.store.get("lists", list).title, "Groceries");
  await expectAgreement(phone, laptop);
});
