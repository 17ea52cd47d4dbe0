// Conflicts whose record is gone, and those of forms.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Device, expectAgreement } from "./devices.js";
import { folder, Server } from "./server.js";

/** Two devices with a list of milk and tea, whose milk the laptop changes and the phone removes, each offline. */
async function start(t, edit) {
  const server = await Server.start(t);
  const phone = await Device.signUp("ada", { server });
  const list = await phone.makeList("Groceries", "Milk", "Tea");
  await phone.sync();
  const laptop = await Device.signIn("ada", { server });
  await laptop.sync();
  const milk = phone.item("Milk").id;
  if (edit) {
    await laptop.write((db) => db.update("items", milk, edit));
    await phone.write((db) => db.delete("items", milk));
    await phone.sync();
    await expectAgreement(laptop, phone);
  }
  return { phone, laptop, list, milk };
}

test("a question about a record that was deleted is closed by its winner, and by nothing else (I3)", async (t) => {
  const { phone, laptop, milk } = await start(t);
  await phone.write((db) => db.update("items", milk, { title: "Oat milk" }));
  await laptop.write((db) => db.update("items", milk, { title: "Soy milk" }));
  await expectAgreement(phone, laptop);
  const [{ id }] = phone.store.all("conflicts");
  await phone.write((db) => db.delete("items", milk));
  await expectAgreement(phone, laptop);
  for (const choice of ["loser", { value: "Milk" }]) {
    await assert.rejects(laptop.write((db) => db.resolve(id, choice)), { code: "record-unknown" });
  }
  await laptop.write((db) => db.resolve(id, "winner"));
  await expectAgreement(laptop, phone);
  assert.equal(phone.store.get("conflicts", id).resolution, "winner");
  assert.equal(laptop.store.quarantined().length, 0);
});

test("a deleted item comes back to the end of its list by a title that somebody gave it (I7, I8)", async (t) => {
  const { phone, laptop, list } = await start(t, { title: "Green milk" });
  await laptop.write((db) => db.resolve(db.all("conflicts")[0].id, "loser"));
  await expectAgreement(laptop, phone);
  assert.deepEqual(phone.titles(list), ["Tea", "Green milk"]);
});

test("a deleted item whose title nobody changed does not come back, and the column is named (I8)", async (t) => {
  const { laptop } = await start(t, { done: true });
  const { id } = laptop.store.all("conflicts")[0];
  await assert.rejects(laptop.write((db) => db.resolve(id, "loser")), { code: "value-missing", message: /have the title of/ });
  await laptop.write((db) => db.resolve(id, "winner"));
});

for (const isHere of [false, true]) {
  test(`an edit of what a person saw before others changed it is merged and logged, also when their edit ${isHere ? "is here already" : "is not here yet"} (I3)`, async (t) => {
    const schema = join(folder(t), "forms.json");
    writeFileSync(schema, JSON.stringify({ holdfast: 1, name: "forms", tables: { forms: { zone: "root", columns: {
      title: { type: "text" }, name: { type: "text" }, note: { type: "text", merge: "text" }, amount: { type: "integer", merge: "counter" },
      tags: { type: "json", merge: "set" },
    } } } }));
    const server = await Server.start(t, { schema });
    const phone = await Device.signUp("ada", { server, schema });
    const laptop = await Device.signIn("ada", { server, schema });
    const id = await phone.write((db) => db.insert("forms", { title: "Milk", name: "one", note: "one two three", amount: 1, tags: ["cold"] }));
    await expectAgreement(phone, laptop);
    const seen = phone.store.get("forms", id);
    await laptop.write((db) => db.update("forms", id, { title: "Oat milk", name: "two", note: "one zwei three", amount: 3, tags: ["cold", "dairy"] }));
    await laptop.sync();
    if (isHere) await phone.sync();
    const typed = { title: "Soy milk", name: "one", note: "one deux three", amount: 5, tags: ["blue"] };
    const { title, name, note, amount, tags } = seen;
    await phone.write((db) => db.update("forms", id, typed, { title, name, note, amount, tags }));
    const merged = { title: "Soy milk", name: "two", note: "one deux three", amount: 7, tags: ["blue", "dairy"] };
    const shown = ({ title, name, note, amount, tags }) => ({ title, name, note, amount, tags });
    if (isHere) assert.deepEqual(shown(phone.store.get("forms", id)), merged);
    await expectAgreement(phone, laptop);
    assert.deepEqual(shown(laptop.store.get("forms", id)), merged);
    const log = laptop.store.all("conflicts", { order: ["column_name"] }).map(({ column_name: column, loser_value: loser }) => [column, loser]);
    assert.deepEqual(log, [["note", "one zwei three"], ["title", "Oat milk"]]);
  });
}
