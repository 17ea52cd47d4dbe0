// Records whose recovery depends on others that come in a later request. docs/RESTORING.md, section 4.

import assert from "node:assert/strict";
import { test } from "node:test";
import { expectAgreement } from "./devices.js";
import { listsForm, restorable } from "./restores.js";

/** More than one request takes. */
const count = 600;

async function open(t) {
  const form = listsForm();
  Object.assign(form.tables.items.columns, { under: { type: "reference", to: "items", on_delete: "set_null" }, code: { type: "text" } });
  form.tables.items.unique = [["code"]];
  const all = await restorable(t, form);
  const phone = await all.signUp("ada");
  const list = await phone.write((db) => db.insert("lists", { title: "Here" }));
  const insert = async () => {
    const ids = await phone.write((db) => Array.from({ length: count }, (_, index) => db.insert("items", { list, title: "Item", code: `${index}` })));
    await phone.sync();
    return [ids[0], ids.at(-1)];
  };
  return { ...all, phone, list, insert };
}

test("records that refer to each other are recovered, also when they are in two requests (I2)", async (t) => {
  const { phone, insert, backUp, restore, fresh } = await open(t);
  await phone.sync();
  backUp();
  const [first, last] = await insert();
  await phone.write((db) => {
    db.update("items", first, { under: last });
    db.update("items", last, { under: first });
  });
  await phone.sync();
  await phone.sync();
  await restore();
  await phone.sync();
  assert.deepEqual(phone.store.quarantined(), []);
  const other = await fresh("ada");
  assert.deepEqual([first, last].map((id) => other.store.get("items", id)?.under), [last, first]);
  await expectAgreement(phone, other);
});

test("records that have swapped unique values are recovered, also when they are in two requests (I2)", async (t) => {
  const { phone, list, insert, backUp, restore, fresh } = await open(t);
  const [first, last] = await insert();
  await phone.sync();
  backUp();
  await phone.write((db) => {
    db.update("items", first, { code: null });
    db.update("items", last, { code: "0" });
    db.update("items", first, { code: `${count - 1}` });
    for (const { id } of db.all("items")) db.update("items", id, { note: "noted" });
  });
  await phone.sync();
  await phone.sync();
  assert.deepEqual(phone.store.quarantined(), []);
  await restore();
  await phone.sync();
  assert.deepEqual(phone.store.quarantined(), []);
  const other = await fresh("ada");
  assert.deepEqual([first, last].map((id) => other.store.get("items", id).code), [`${count - 1}`, "0"]);
  assert.equal(other.store.get("lists", list).title, "Here");
  await expectAgreement(phone, other);
});

test("a record that is refused again goes to quarantine, and the others are recovered (I2, I3)", async (t) => {
  const { phone, list, backUp, restore, signIn, fresh } = await open(t);
  await phone.sync();
  backUp();
  const [tent, peg] = await phone.write((db) => ["Tent", "Peg"].map((title) => db.insert("items", { list, title, code: title })));
  await phone.sync();
  await phone.sync();
  await restore();
  const laptop = await signIn("ada");
  await laptop.sync();
  await laptop.write((db) => db.insert("items", { list, title: "Other", code: "Tent" }));
  await laptop.sync();
  await phone.sync();
  assert.deepEqual(phone.store.quarantined().map(({ problem, operations }) => [problem.code, operations[0].id]), [["unique-taken", tent]]);
  const other = await fresh("ada");
  assert.deepEqual([other.store.get("items", tent), other.store.get("items", peg)?.title], [undefined, "Peg"]);
  await expectAgreement(phone, laptop, other);
});
