// The clock of a device beside a server whose clock is wrong.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Device, expectAgreement, falsify } from "./devices.js";
import { Server } from "./server.js";

const spoiled = "7fffffffffffffff";
const clocksOf = ({ engine: { device } }) => [device.clock, device.lastServerClock];

/** A phone and a laptop that have a list; one answer has told the phone of a clock beyond all times. */
async function open(t) {
  const server = await Server.start(t);
  const phone = await Device.signUp("ada", { server });
  const laptop = await Device.signIn("ada", { server });
  const list = await phone.makeList("Groceries");
  await expectAgreement(phone, laptop);
  const falsified = falsify(phone, (form) => { form.clock = spoiled; });
  await phone.sync();
  falsified.stop();
  assert.deepEqual(clocksOf(phone), [spoiled, spoiled]);
  return { phone, laptop, list };
}

test("after an answer with a wrong clock the newer edit wins again (I7)", async (t) => {
  const { phone, laptop, list } = await open(t);
  await phone.sync();
  for (const clock of clocksOf(phone)) assert.ok(clock < spoiled);
  await phone.write((db) => db.update("lists", list, { title: "Older" }));
  await new Promise((resolve) => { setTimeout(resolve, 5); });
  await laptop.write((db) => db.update("lists", list, { title: "Newer" }));
  await expectAgreement(phone, laptop);
  assert.equal(phone.store.get("lists", list).title, "Newer");
});

test("a wrong clock stays while edits with its stamps are not sent (I7)", async (t) => {
  const { phone, laptop, list } = await open(t);
  const clocks = [];
  const falsified = falsify(phone, async (_, count) => {
    clocks.push(phone.engine.device.clock);
    if (count === 0) await phone.write((db) => db.update("lists", list, { title: "Meanwhile" }));
  });
  await phone.sync();
  falsified.stop();
  assert.deepEqual(clocks, [spoiled, spoiled]);
  assert.ok(phone.engine.device.clock < spoiled);
  await expectAgreement(phone, laptop);
  assert.equal(laptop.store.get("lists", list).title, "Meanwhile");
});
