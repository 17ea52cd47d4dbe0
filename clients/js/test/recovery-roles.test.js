// Who recovers what a restored server has lost. docs/RESTORING.md, section 4.

import assert from "node:assert/strict";
import { test } from "node:test";
import { listsForm, restorable, share } from "./restores.js";

/** Ada's list, of which bob is a member. @param large how many large items it has: 300 make two parts. */
async function open(t, { roles, role, large = 0 }) {
  const all = await restorable(t, listsForm(roles));
  const [ada, bob] = [await all.signUp("ada"), await all.signUp("bob")];
  const list = await ada.write((db) => db.insert("lists", { title: "Here" }));
  for (let count = 0; count < 2; count++) {
    await ada.write((db) => { for (let number = 0; number < large; number++) db.insert("items", { list, title: "big", note: "x".repeat(9000) }); });
  }
  await ada.sync();
  await share(ada, list, "bob", role, bob);
  return { ...all, ada, bob, list };
}

for (const large of [0, 300]) {
  test(`a role that was given after the backup recovers what its user wrote, when the zone comes in ${large ? "parts" : "one part"} (I2)`, async (t) => {
    const { ada, bob, list, backUp, restore, fresh } = await open(t, { role: "viewer", large });
    backUp();
    const { id } = ada.store.all("members").find(({ zone, name }) => zone === list && name === "bob");
    await ada.write((db) => db.update("members", id, { role: "editor" }));
    await ada.sync();
    await bob.sync();
    const item = await bob.write((db) => db.insert("items", { list, title: "Bob's" }));
    await bob.sync();
    await bob.sync();
    await restore();
    await bob.sync();
    assert.equal(bob.store.get("items", item)?.title, "Bob's");
    assert.equal((await fresh("ada")).store.get("items", item)?.title, "Bob's");
  });
}

for (const [roles, role] of [[{ delete: "owner" }, "editor"], [{ create: "viewer", update: "viewer" }, "viewer"]]) {
  test(`records are recovered by the role ${role} where the roles are ${JSON.stringify(roles)} (I2)`, async (t) => {
    const { bob, list, backUp, restore, fresh } = await open(t, { roles, role });
    backUp();
    const item = await bob.write((db) => db.insert("items", { list, title: "Bob's" }));
    await bob.sync();
    await bob.sync();
    await restore();
    await bob.sync();
    assert.equal((await fresh("ada")).store.get("items", item)?.title, "Bob's");
    assert.equal(bob.store.get("items", item)?.title, "Bob's");
  });
}

test("the log of conflicts is recovered with the records that it is about, and with what was chosen (I3)", async (t) => {
  const { ada, bob, list, backUp, restore, fresh } = await open(t, { role: "editor" });
  const conflictsOf = ({ store }) => store.all("conflicts").map(({ record_id: id, loser_value: loser, resolution }) => [id, loser, resolution]);
  const settle = async () => { for (const device of [ada, bob, ada, bob]) await device.sync(); };
  backUp();
  const item = await ada.write((db) => db.insert("items", { list, title: "Tent" }));
  await settle();
  await ada.write((db) => db.update("items", item, { title: "Ada's" }));
  await bob.write((db) => db.update("items", item, { title: "Bob's" }));
  await settle();
  const [{ id }] = ada.store.all("conflicts");
  await ada.write((db) => db.resolve(id, "winner"));
  await settle();
  const before = conflictsOf(bob);
  assert.deepEqual(before, [[item, "Ada's", "winner"]]);
  await restore();
  await bob.sync();
  await ada.sync();
  for (const device of [bob, ada, await fresh("ada")]) assert.deepEqual(conflictsOf(device), before);
  assert.deepEqual(bob.store.quarantined(), []);
});
