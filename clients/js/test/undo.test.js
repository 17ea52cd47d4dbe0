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
    rooms: { zone: "root", columns: { name: text } },
    shelves: { zone: { parent: "room" }, columns: { room: { type: "reference", to: "rooms", required: true, on_delete: "cascade" }, name: text } },
    books: {
      zone: { parent: "room" }, columns: {
        room: { type: "reference", to: "rooms", required: true, on_delete: "cascade" }, shelf: { type: "reference", to: "shelves", on_delete: "restrict" },
        title: text, code: text,
      }, unique: [["code"]],
    },
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

test("transactions are kept by their size, and large ones are undone", async (t) => {
  const { phone, room } = await start(t);
  await phone.write((db) => { for (let number = 0; number < 1500; number++) db.insert("books", { room }); });
  await phone.write((db) => db.delete("rooms", room));
  assert.deepEqual(await phone.store.undo(), { changed: 1501, kept: 0 });
  assert.equal(phone.store.all("books").length, 1500);
  const title = "x".repeat(10_000);
  // More than 1 MiB at once, and more than 4 MiB together.
  await phone.write((db) => { for (let number = 0; number < 110; number++) db.insert("books", { room, title }); });
  await phone.write((db) => db.update("rooms", room, { name: "Loft" }));
  for (let count = 0; count < 6; count++) await phone.write((db) => { for (let number = 0; number < 90; number++) db.insert("books", { room, title }); });
  const kept = [...phone.store.state.store("undo").values()];
  assert.ok(kept.every(({ size }) => size < 1 << 20) && kept.length === 4, `${kept.map(({ size }) => size)}`);
});
