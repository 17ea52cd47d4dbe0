// What an undo reverses, and what it leaves. docs/UNDO.md.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Device, expectAgreement } from "./devices.js";
import { folder, Server } from "./server.js";

const text = { type: "text" };
const form = {
  holdfast: 1, name: "undo", tables: {
    rooms: {
      zone: "root", columns: {
        name: text, note: { type: "text", merge: "text" }, tags: { type: "json", merge: "set" }, seats: { type: "integer", merge: "counter" },
        size: { type: "integer", default: 3 },
      },
    },
    shelves: {
      zone: { parent: "room" }, columns: {
        room: { type: "reference", to: "rooms", required: true, on_delete: "cascade" }, name: text, next: { type: "reference", to: "shelves", on_delete: "set_null" },
      },
    },
    books: {
      zone: { parent: "room" }, columns: {
        room: { type: "reference", to: "rooms", required: true, on_delete: "cascade" }, shelf: { type: "reference", to: "shelves", on_delete: "restrict" },
        title: text, code: text,
      }, unique: [["code"]],
    },
    links: { zone: "user", columns: { room: { type: "reference", to: "rooms", required: true, across: true, on_delete: "cascade" }, note: text } },
  },
};

async function start(t) {
  const schema = join(folder(t), "undo.json");
  writeFileSync(schema, JSON.stringify(form));
  const server = await Server.start(t, { schema });
  const phone = await Device.signUp("ada", { server, schema });
  const room = await phone.write((db) => db.insert("rooms", { name: "Attic" }));
  return { server, schema, phone, room };
}

test("a write that changes nothing is not undone, and leaves the redo", async (t) => {
  const { phone, room } = await start(t);
  const rename = (name) => phone.write((db) => db.update("rooms", room, { name }));
  await rename("Loft");
  await rename("Loft");
  assert.deepEqual(await phone.store.undo(), { changed: 1, kept: 0 });
  assert.equal(phone.store.get("rooms", room).name, "Attic");
  await rename("Attic");
  await phone.write((db) => db.delete("books", db.insert("books", { room })));
  assert.deepEqual(await phone.store.redo(), { changed: 1, kept: 0 });
  assert.equal(phone.store.get("rooms", room).name, "Loft");
});

test("an undo leaves a reference to a record that is gone, and the next one goes on (I9)", async (t) => {
  const { server, schema, phone, room } = await start(t);
  const [cellar, book] = await phone.write((db) => [db.insert("rooms", { name: "Cellar" }), db.insert("books", { room, title: "Emma" })]);
  await phone.write((db) => db.update("books", book, { title: "Persuasion" }));
  await phone.write((db) => db.update("books", book, { room: cellar }));
  await phone.sync();
  const laptop = await Device.signIn("ada", { server, schema });
  await laptop.sync();
  await laptop.write((db) => db.delete("rooms", room));
  await laptop.sync();
  await phone.sync();
  assert.deepEqual(await phone.store.undo(), { changed: 0, kept: 1 });
  assert.deepEqual(await phone.store.undo(), { changed: 1, kept: 0 });
  assert.deepEqual([phone.store.get("books", book).title, phone.store.get("books", book).room], ["Emma", cellar]);
  await expectAgreement(phone, laptop);
});

test("an undo gives a reference back whose record it brings back (I9)", async (t) => {
  const { server, schema, phone, room } = await start(t);
  const [shelf, other, book] = await phone.write((db) => {
    const [shelf, other] = ["first", "second"].map((name) => db.insert("shelves", { room, name }));
    return [shelf, other, db.insert("books", { room, shelf })];
  });
  await phone.write((db) => {
    db.delete("shelves", shelf);
    db.update("books", book, { shelf: other });
  });
  assert.deepEqual(await phone.store.undo(), { changed: 2, kept: 0 });
  assert.equal(phone.store.get("books", book).shelf, shelf);
  await expectAgreement(phone, await Device.signIn("ada", { server, schema }));
});

test("an undo leaves a record whose former value another has by now, and reverses the others", async (t) => {
  const { server, schema, phone, room } = await start(t);
  const [first, second] = await phone.write((db) => ["a", "b"].map((code) => db.insert("books", { room, code })));
  await phone.sync();
  await phone.write((db) => {
    db.update("books", first, { code: "c" });
    db.update("books", second, { code: "d" });
  });
  await phone.sync();
  const laptop = await Device.signIn("ada", { server, schema });
  await laptop.sync();
  await laptop.write((db) => db.insert("books", { room, code: "a" }));
  await expectAgreement(phone, laptop);
  assert.deepEqual(await phone.store.undo(), { changed: 1, kept: 1 });
  assert.deepEqual([phone.store.get("books", first).code, phone.store.get("books", second).code], ["c", "b"]);
  await expectAgreement(phone, laptop);
});

test("an undo leaves a value that the schema allows no more, and the next one goes on", async (t) => {
  const { server, schema, phone, room } = await start(t);
  const [long, short] = await phone.write((db) => ["Persuasion", "Emma"].map((title) => db.insert("books", { room, title })));
  await phone.write((db) => { for (const id of [long, short]) db.update("books", id, { title: "?" }); });
  const shorter = structuredClone(form);
  shorter.tables.books.columns.title.max_length = 5;
  writeFileSync(schema, JSON.stringify(shorter));
  const tablet = await Device.open({ server, storage: phone.storage, schema });
  assert.deepEqual(await tablet.store.undo(), { changed: 1, kept: 1 });
  assert.deepEqual([long, short].map((id) => tablet.store.get("books", id).title), ["?", "Emma"]);
  assert.notEqual(await tablet.store.undo(), null);
});

test("transactions are kept by their size, and one larger than all may be leaves nothing to undo", async (t) => {
  const { phone, room } = await start(t);
  const kept = () => phone.store.state.store("undo").size;
  const write = (count, title) => phone.write((db) => { for (let number = 0; number < count; number++) db.insert("books", { room, title }); });
  await write(1500);
  await phone.write((db) => db.delete("rooms", room));
  assert.deepEqual(await phone.store.undo(), { changed: 1501, kept: 0 });
  assert.equal(phone.store.all("books").length, 1500);
  // More than 4 MiB together; é has two bytes.
  for (let count = 0; count < 6; count++) await write(90, "é".repeat(5_000));
  assert.equal(kept(), 4);
  await write(350, "é".repeat(5_000));
  assert.equal(kept(), 1);
  await write(450, "é".repeat(5_000));
  assert.equal(await phone.store.undo(), null);
});

test("an undo leaves a transaction whose reverse is too large for a change set, and the next one goes on (I12)", async (t) => {
  const { phone, room } = await start(t);
  const write = (body) => phone.write((db) => { for (let number = 0; number < 3000; number++) body(db, number); });
  const shelves = [];
  // Each refers to itself: a create and an update.
  for (let count = 0; count < 2; count++) {
    await write((db) => {
      const shelf = db.insert("shelves", { room });
      db.update("shelves", shelf, { next: shelf });
      shelves.push(shelf);
    });
  }
  await phone.write((db) => db.update("rooms", room, { name: "Loft" }));
  await phone.write((db) => { for (const shelf of shelves) db.delete("shelves", shelf); });
  assert.deepEqual(await phone.store.undo(), { changed: 0, kept: 6000 });
  assert.deepEqual(await phone.store.undo(), { changed: 1, kept: 0 });
  assert.equal(phone.store.get("rooms", room).name, "Attic");
});

/** Two devices of one user that agree. */
async function startTwo(t) {
  const { server, schema, phone, room } = await start(t);
  const laptop = await Device.signIn("ada", { server, schema });
  await expectAgreement(phone, laptop);
  return { phone, laptop, room };
}

/** Writes on a device, and lets both have it. */
async function writeAndAgree(device, other, body) {
  const result = await device.write(body);
  await expectAgreement(device, other);
  return result;
}

for (const rule of ["cascade", "restrict"]) {
  test(`an undo of a create leaves what somebody has changed since, and what that refers to: ${rule} (I3)`, async (t) => {
    const { phone, laptop } = await startTwo(t);
    const names = rule === "cascade" ? ["rooms", "shelves"] : ["shelves", "books"];
    const [parent, child, other] = await writeAndAgree(phone, laptop, (db) => {
      const room = db.insert("rooms", { name: "Cellar" });
      const shelf = db.insert("shelves", { room, name: "first" });
      const book = db.insert("books", { room, shelf, title: "Emma" });
      return rule === "cascade" ? [room, shelf, book] : [shelf, book, room];
    });
    const text = rule === "cascade" ? { name: "wines" } : { title: "Persuasion" };
    await writeAndAgree(laptop, phone, (db) => db.update(names[1], child, text));
    assert.deepEqual(await phone.store.undo(), rule === "cascade" ? { changed: 1, kept: 2 } : { changed: 0, kept: 3 });
    await expectAgreement(phone, laptop);
    assert.ok(laptop.store.get(names[0], parent));
    assert.deepEqual({ ...laptop.store.get(names[1], child), ...text }, laptop.store.get(names[1], child));
    assert.equal(laptop.store.get("books", other), undefined);
    assert.deepEqual(laptop.store.all("conflicts"), []);
    assert.notEqual(await phone.store.undo(), null);
  });
}

test("an undo of a create leaves a record to which one of another zone refers (I3)", async (t) => {
  const { phone, laptop } = await startTwo(t);
  const cellar = await writeAndAgree(phone, laptop, (db) => db.insert("rooms", { name: "Cellar" }));
  const link = await writeAndAgree(laptop, phone, (db) => db.insert("links", { room: cellar, note: "precious" }));
  assert.deepEqual(await phone.store.undo(), { changed: 0, kept: 1 });
  await expectAgreement(phone, laptop);
  assert.equal(laptop.store.get("links", link).note, "precious");
});

test("an undo deletes records that refer to each other", async (t) => {
  const { phone, laptop, room } = await startTwo(t);
  await writeAndAgree(phone, laptop, (db) => {
    const [first, second] = ["first", "second"].map((name) => db.insert("shelves", { room, name }));
    db.update("shelves", first, { next: second });
    db.update("shelves", second, { next: first });
  });
  assert.deepEqual(await phone.store.undo(), { changed: 2, kept: 0 });
  await expectAgreement(phone, laptop);
  assert.deepEqual(laptop.store.all("shelves"), []);
});

test("an undo leaves a text that somebody has changed since, and reverses a set and a counter (I3)", async (t) => {
  const { phone, laptop, room } = await startTwo(t);
  const write = (device, other, note, tags, amount) => writeAndAgree(device, other, (db) => {
    db.update("rooms", room, { note, tags });
    db.increment("rooms", room, "seats", amount);
  });
  await write(phone, laptop, "one two three", ["b", "a"], 1);
  await write(phone, laptop, "one two three four five", ["b", "c"], 2);
  await write(laptop, phone, "one two three 4our and laptop's words five", ["b", "c", "d"], 4);
  assert.deepEqual(await phone.store.undo(), { changed: 1, kept: 0 });
  await expectAgreement(phone, laptop);
  const { note, tags, seats } = laptop.store.get("rooms", room);
  assert.deepEqual([note, tags, seats], ["one two three 4our and laptop's words five", ["a", "b", "d"], 5]);
});

test("an undo gives a record its former values to the byte, also a null where the column has a default", async (t) => {
  const { phone, laptop } = await startTwo(t);
  const cellar = await writeAndAgree(phone, laptop, (db) => db.insert("rooms", { name: "Cellar", tags: ["b", "a"], size: null }));
  const before = phone.store.get("rooms", cellar);
  assert.deepEqual([before.size, before.tags], [null, ["b", "a"]]);
  await writeAndAgree(phone, laptop, (db) => db.update("rooms", cellar, { tags: ["z"] }));
  await phone.store.undo();
  assert.deepEqual(phone.store.get("rooms", cellar).tags, ["b", "a"]);
  await writeAndAgree(phone, laptop, (db) => db.delete("rooms", cellar));
  assert.deepEqual(await phone.store.undo(), { changed: 1, kept: 0 });
  await expectAgreement(phone, laptop);
  const { rev: _, ...values } = laptop.store.get("rooms", cellar);
  const { rev: __, ...former } = before;
  assert.deepEqual(values, former);
});

test("an undo takes a share back whose empty columns the server has filled in", async (t) => {
  const { server, schema, phone, room } = await start(t);
  await Device.signUp("bob", { server, schema });
  await phone.sync();
  const member = await phone.write((db) => db.insert("members", { zone: room, name: "bob", role: "editor" }));
  await phone.sync();
  assert.notEqual(phone.store.get("members", member).user, null);
  assert.deepEqual(await phone.store.undo(), { changed: 1, kept: 0 });
  await expectAgreement(phone, await Device.signIn("ada", { server, schema }));
  assert.equal(phone.store.get("members", member), undefined);
});
