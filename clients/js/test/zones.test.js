// Devices of many zones.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Draft } from "../src/state.js";
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
