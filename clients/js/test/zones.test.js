// Devices of many zones.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Draft } from "../src/state.js";
import { Zones } from "../src/zones.js";
import { Device, expectAgreement } from "./devices.js";
import { Server } from "./server.js";

test("the records of a device are not walked once for each zone that comes", async (t) => {
  const server = await Server.start(t);
  const phone = await Device.signUp("ada", { server });
  const { records } = Draft.prototype;
  t.after(() => { Draft.prototype.records = records; });
  /** How often a new device walks the records of a table until it has all. */
  const walks = async (lists) => {
    await phone.write((db) => {
      for (let count = phone.store.all("lists").length; count < lists; count++) db.insert("lists", { title: `List ${count}` });
    });
    await phone.sync();
    let count = 0;
    Draft.prototype.records = function* walk(table) {
      count += 1;
      yield* records.call(this, table);
    };
    const laptop = await Device.signIn("ada", { server });
    await laptop.sync();
    Draft.prototype.records = records;
    await expectAgreement(phone, laptop);
    return count;
  };
  const few = await walks(10);
  assert.equal(await walks(100), few);
});

test("a server that is restored twice within an hour gets what it lacks at once, one that never ends waits (I3, I12)", async (t) => {
  const server = await Server.start(t);
  const phone = await Device.signUp("ada", { server });
  const list = await phone.makeList("Home");
  await phone.sync();
  const mayReset = (now, isRestored) => phone.store.transact((draft) => new Zones(draft, phone.store.schema).mayReset(list, now, isRestored));
  const answers = [];
  for (let count = 0; count < 5; count++) answers.push(await mayReset(1000 + count, true));
  assert.deepEqual(answers, [true, true, true, true, false]);
  // An hour later the count begins anew, and a reset of another reason waits at the second time.
  const later = 1000 + 3 * 3_600_000;
  assert.equal(await mayReset(later, false), true);
  assert.equal(await mayReset(later + 2 * 3_600_000, false), true);
  assert.equal(await mayReset(later + 2 * 3_600_000 + 1, false), false);
  assert.equal(await mayReset(later + 2 * 3_600_000 + 2, true), true);
});
