// Records that are put into the order of a list.

import assert from "node:assert/strict";
import { test } from "node:test";
import { readFileSync } from "node:fs";
import { MemoryStorage, Store } from "../index.js";
import { jotSchema } from "./server.js";

/** A store with two lists of two items each. */
async function open() {
  const store = await Store.open({ storage: new MemoryStorage(), schema: readFileSync(jotSchema, "utf8") });
  const [lists, items] = await store.write((db) => {
    const lists = ["Here", "There"].map((title) => db.insert("lists", { title }));
    const items = lists.flatMap((list) => db.positions("items", 2, "last", { parent: list }).map((position, index) => (
      db.insert("items", { list_id: list, title: `${index}`, position }))));
    return [lists, items];
  });
  const order = (list) => store.reader().list("items", list).map(({ id }) => items.indexOf(id));
  return { store, lists, items, order };
}

test("records of several lists are moved together only to a list that is named", async () => {
  const { store, lists: [here, there], items, order } = await open();
  const block = [items[3], items[0]];
  const refused = { name: "WriteError", code: "invalid-value" };
  await assert.rejects(store.write((db) => db.move("items", block, "first")), refused);
  await assert.rejects(store.write((db) => db.move("items", [items[0], items[0]], "first")), refused);
  assert.deepEqual([order(here), order(there)], [[0, 1], [2, 3]]);
  await store.write((db) => db.move("items", block, "first", { parent: here }));
  assert.deepEqual([order(here), order(there)], [[3, 0, 1], [2]]);
  await store.write((db) => db.move("items", [items[1], items[0]], { before: items[3] }));
  assert.deepEqual(order(here), [1, 0, 3]);
  await store.write((db) => db.move("items", [], "last"));
});
