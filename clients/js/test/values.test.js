// Values that JavaScript's numbers and objects do not have: long integers, the text of JSON, names that every object has.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Device, expectAgreement } from "./devices.js";
import { folder, Server } from "./server.js";

const form = {
  holdfast: 1, name: "values", tables: {
    lists: {
      zone: "root", columns: {
        title: { type: "text" }, big: { type: "integer", merge: "ask" }, doc: { type: "json", merge: "ask" }, constructor: { type: "text", merge: "text" },
        at: { type: "timestamp" },
      },
    },
    items: {
      zone: { parent: "list" }, columns: {
        list: { type: "reference", to: "lists", required: true, on_delete: "cascade" }, code: { type: "text" }, doc: { type: "json" },
        constructor: { type: "reference", to: "items", on_delete: "set_null" },
      }, unique: [["code"]],
    },
  },
};
const [long, longer] = [9007199254740993n, 1152921504606846977n];
const doc = '{"n":12345678901234567890,"p":1.0}';

/** Two devices of a user, and `patch`, which writes JSON by REST as it is. */
async function start(t) {
  const schema = join(folder(t), "values.json");
  writeFileSync(schema, JSON.stringify(form));
  const server = await Server.start(t, { schema });
  const phone = await Device.signUp("ada", { server, schema });
  const laptop = await Device.signIn("ada", { server, schema });
  const send = async (method, path, body) => {
    const headers = { Authorization: `Bearer ${phone.engine.device.token}`, "Content-Type": "application/json", "Idempotency-Key": crypto.randomUUID() };
    const answer = await fetch(`${server.address}/v1/tables/${path}`, { method, headers, body });
    assert.equal(answer.status, 200);
    return answer.text();
  };
  return {
    server, schema, phone, laptop, read: (path) => send("GET", path),
    patch: (path, column, text) => send("PATCH", path, `{"columns":{"${column}":${text}}}`),
  };
}

const conflictOf = (device, column) => device.store.all("conflicts").find((conflict) => conflict.column_name === column && !conflict.resolution);

test("conflicts show long integers and the text of JSON, and are resolved with them (I7)", async (t) => {
  const { phone, laptop, read, patch } = await start(t);
  const list = await phone.write((db) => db.insert("lists", { big: 1, doc: { n: 1 } }));
  await expectAgreement(phone, laptop);
  await phone.write((db) => db.update("lists", list, { big: long }));
  await patch(`lists/${list}`, "doc", doc);
  await phone.sync();
  await laptop.write((db) => db.update("lists", list, { big: longer, doc: { n: 2 } }));
  await expectAgreement(laptop, phone);
  const conflict = conflictOf(phone, "big");
  assert.deepEqual([conflict.winner_value, conflict.loser_value, conflict.base], [long, longer, 1]);
  await phone.write((db) => db.resolve(conflict.id, "loser"));
  await phone.sync();
  assert.match(await read(`lists/${list}`), /"big":1152921504606846977\b/);

  // The winner's value is written again when another one is there by now.
  await phone.write((db) => db.update("lists", list, { doc: { n: 3 } }));
  const { id } = conflictOf(phone, "doc");
  await phone.write((db) => db.resolve(id, "winner"));
  await expectAgreement(phone, laptop);
  assert.equal(laptop.store.get("conflicts", id).resolution, "winner");
  assert.ok((await read(`lists/${list}`)).includes(doc));
});

test("a deleted record comes back with its long integers and the text of its JSON (I3, I8)", async (t) => {
  const { phone, laptop, read } = await start(t);
  const list = await phone.write((db) => db.insert("lists", { title: "Groceries", big: 1 }));
  await expectAgreement(phone, laptop);
  await laptop.write((db) => db.update("lists", list, { title: "Food", big: longer }));
  await phone.write((db) => db.delete("lists", list));
  await phone.sync();
  await expectAgreement(laptop, phone);
  const conflict = conflictOf(laptop, "big");
  await assert.rejects(laptop.write((db) => db.resolve(conflict.id, { value: 5 })), { code: "record-unknown" });
  await laptop.write((db) => db.resolve(conflict.id, "loser"));
  await expectAgreement(laptop, phone);
  assert.deepEqual([phone.store.get("lists", list).big, phone.store.get("lists", list).title], [longer, "Food"]);
  assert.match(await read(`lists/${list}`), /"big":1152921504606846977\b/);
});

test("JSON that the app does not change keeps its text, in a form and in a refused set (I3)", async (t) => {
  const { phone, laptop, read, patch } = await start(t);
  const list = await phone.write((db) => db.insert("lists", {}));
  const item = await phone.write((db) => db.insert("items", { list, code: "x" }));
  await phone.sync();
  await patch(`items/${item}`, "doc", doc);
  await expectAgreement(phone, laptop);
  await laptop.write((db) => db.update("items", item, { code: "y", doc: db.get("items", item).doc }));
  await laptop.sync();
  assert.ok((await read(`items/${item}`)).includes(doc));

  await laptop.write((db) => db.delete("items", item));
  await expectAgreement(laptop, phone);
  await phone.write((db) => db.insert("items", { list, code: "y" }));
  await phone.sync();
  await laptop.store.undo();
  await laptop.sync();
  const [{ number }] = laptop.store.quarantined();
  await laptop.store.resend(number, ([operation]) => { operation.columns.code = "z"; });
  await laptop.sync();
  assert.deepEqual(laptop.store.quarantined(), []);
  assert.ok((await read(`items/${item}`)).includes(doc));
});

test("a column may have a name that every object of JavaScript has (I7)", async (t) => {
  const { phone, laptop } = await start(t);
  const [list, [first, second]] = await phone.write((db) => {
    const list = db.insert("lists", { title: "Groceries" });
    return [list, ["a", "b"].map((code) => db.insert("items", { list, code }))];
  });
  assert.equal(phone.store.get("lists", list).constructor, null);
  await expectAgreement(phone, laptop);
  await phone.write((db) => db.update("lists", list, { title: "Food" }, { title: "Groceries" }));
  await laptop.write((db) => db.update("items", second, { constructor: first }));
  await laptop.write((db) => db.update("items", second, { code: "c" }));
  // An edit of another column has nothing to do with the reference.
  await phone.write((db) => db.delete("items", first));
  await expectAgreement(phone, laptop);
  assert.deepEqual([phone.store.get("items", second).constructor, phone.store.get("items", second).code], [null, "c"]);
  assert.deepEqual([...phone.store.quarantined(), ...laptop.store.quarantined()].map(({ problem }) => problem.code), []);
});

test("records are found by the values that an app writes, and not by names that the table does not have", async (t) => {
  const { phone: { store } } = await start(t);
  const at = new Date(0);
  const id = await store.write((db) => db.insert("lists", { title: "b", big: 5n, doc: { n: [1] }, at }));
  await store.write((db) => db.insert("lists", { title: "a", big: long }));
  const found = (where) => store.all("lists", { where }).map(({ title }) => title);
  for (const where of [{ big: 5 }, { big: 5n }, { at }, { at: at.toISOString() }, { doc: { n: [1] } }, { id }, { zone: id }, { title: "b", rev: 0 }]) {
    assert.deepEqual(found(where), ["b"]);
  }
  assert.deepEqual([found({ at: null }), found({ big: long }), found({ big: "5" }), found({ at: undefined })], [["a"], ["a"], [], []]);
  for (const options of [{ where: { typo: null } }, { order: ["typo"] }, { where: { toString: null } }]) {
    assert.throws(() => store.all("lists", options), TypeError);
  }
  assert.deepEqual(store.all("lists", { order: ["title"] }).map(({ title }) => title), ["a", "b"]);
  const ids = store.all("lists", { order: ["rev", "id"] }).map(({ id }) => id);
  assert.deepEqual(ids, [...ids].sort());
});
