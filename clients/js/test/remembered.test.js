// Deletions that a device remembers, as a restored server may not know of them. docs/RESTORING.md, section 4.

import assert from "node:assert/strict";
import { test } from "node:test";
import { systemEnvironment } from "../src/store.js";
import { Device, falsify } from "./devices.js";
import { listsForm, restorable } from "./restores.js";
import { password } from "./server.js";

const jump = 40 * 86_400_000;
const stamp = (milliseconds) => milliseconds.toString(16).padStart(12, "0") + "0000";

/** What is wrong during the sync that brings a deletion. */
const clocks = {
  "the device's clock is far ahead": (all) => { all.offset = jump; },
  "the device's clock is far behind": (all) => { all.offset = -jump; },
  "the server's clock is far ahead": ({ phone }) => falsify(phone, (form) => { form.clock = stamp(Date.now() + jump); }),
};

for (const [why, spoil] of Object.entries(clocks)) {
  test(`deletions are remembered when ${why} for one sync (I8)`, async (t) => {
    const { server, schema, signUp, backUp, restore } = await restorable(t, listsForm());
    const laptop = await signUp("ada");
    const all = { offset: 0 };
    all.phone = await Device.open({ server, schema, environment: { ...systemEnvironment, now: () => Date.now() + all.offset } });
    const { phone } = all;
    await phone.engine.signIn("ada", password);
    const records = await laptop.write((db) => {
      const list = db.insert("lists", { title: "Here" });
      return ["Tent", "Peg", "Rope"].map((title) => db.insert("items", { list, title }));
    });
    await laptop.sync();
    await phone.sync();
    backUp();
    for (const [index, id] of records.entries()) {
      await laptop.write((db) => db.delete("items", id));
      await laptop.sync();
      const falsified = index === 1 ? spoil(all) : undefined;
      await phone.sync();
      falsified?.stop();
      all.offset = 0;
    }
    await restore();
    await phone.sync();
    assert.deepEqual(phone.store.all("items"), []);
  });
}
