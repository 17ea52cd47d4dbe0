// Who recovers what a restored server has lost. docs/RESTORING.md, section 4.

import assert from "node:assert/strict";
import { test } from "node:test";
import { expectAgreement } from "./devices.js";
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
