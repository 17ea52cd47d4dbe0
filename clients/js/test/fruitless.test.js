// Answers that always want another request and bring nothing: a sync ends all the same, and a good server is synced with.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Device, expectAgreement, falsify } from "./devices.js";
import { folder, jotSchema, run, Server } from "./server.js";

/** A phone with a list of three items, and a laptop that has it too. */
async function open(t) {
  const server = await Server.start(t);
  const phone = await Device.signUp("ada", { server });
  const list = await phone.makeList("Groceries", "Milk", "Bread", "Tea");
  const laptop = await Device.signIn("ada", { server });
  await expectAgreement(phone, laptop);
  return { server, phone, laptop, list };
}

const ackOf = (device, zone) => device.store.reader().draft.get("zones", zone).ack;
const part = (zone, from, to, more) => ({ zone, role: "owner", from, to, changes: [], more });

const falsehoods = {
  "says resend": ({ phone }) => falsify(phone, (form) => { form.resend = true; }),
  "has no room": ({ phone, list }) => falsify(phone, (form) => { form.zones.push(part(list, ackOf(phone, list), ackOf(phone, list), true)); }),
  "follows another token": ({ phone, list }) => falsify(phone, (form) => { form.zones.push(part(list, "00000000.7", "00000000.8", false)); }),
  "asks for proofs": ({ phone, list }) => falsify(phone, (form) => { form.prove = [list]; }),
  "says that a zone is lost": ({ phone, list }) => falsify(phone, (form) => { form.lost = [list]; }),
  "waits for a recovery that is over": ({ phone, list }) => falsify(phone, (form) => { form.awaiting_recovery = [{ zone: list, unknown: true, until: 0 }]; }),
  "is an old one": async ({ phone }) => {
    let old;
    const falsified = falsify(phone, (form, count, body) => old ??= body);
    await phone.sync();
    await phone.makeList("Unsent");
    return falsified;
  },
};

for (const [what, falsehood] of Object.entries(falsehoods)) {
  test(`a sync ends when each answer ${what}, and a good one follows (I3, I7)`, async (t) => {
    const all = await open(t);
    const { phone, laptop, list } = all;
    const falsified = await falsehood(all);
    await phone.sync().catch(({ code, message }) => assert.deepEqual([code, message], ["offline", "The server's answers bring nothing new."]));
    assert.ok(falsified.count <= 22, `${falsified.count} requests`);
    falsified.stop();
    await laptop.write((db) => db.update("lists", list, { title: "Food" }));
    await expectAgreement(laptop, phone);
    assert.equal(phone.store.get("lists", list).title, "Food");
  });
}

test("a schema that goes back and forth has refused edits resent until the sync ends, and they stay (I3)", async (t) => {
  const form = JSON.parse(readFileSync(jotSchema, "utf8"));
  form.tables.items.columns.price = { type: "integer" };
  const schema = join(folder(t), "newer.json");
  writeFileSync(schema, JSON.stringify(form));
  const server = await Server.start(t);
  const phone = await Device.signUp("ada", { server, schema });
  await phone.makeList("Groceries", "Milk");
  await phone.sync();
  const falsified = falsify(phone, (answer, count) => { answer.schema = `${count % 2}`.repeat(16); });
  await phone.write((db) => db.update("items", phone.item("Milk").id, { price: 7 }));
  await assert.rejects(phone.sync(), { message: "The server's answers bring nothing new." });
  assert.ok(falsified.count <= 23, `${falsified.count} requests`);
  falsified.stop();
  await phone.sync();
  assert.deepEqual(phone.store.quarantined().map(({ problem }) => problem.code), ["unknown-column"]);
});

test("a download in more small parts than answers that bring nothing are followed is one sync (I7)", async (t) => {
  const { phone, laptop, list } = await open(t);
  const tokens = [ackOf(phone, list)];
  for (let count = 0; count < 25; count += 1) {
    await laptop.write((db) => db.update("items", laptop.item("Milk").id, { done: count % 2 === 0 }));
    await laptop.sync();
    tokens.push(ackOf(laptop, list));
  }
  // Each answer has the part up to the next token alone.
  const falsified = falsify(phone, (form, count) => {
    const next = tokens[count + 1];
    if (form.zones.length === 1 && next !== undefined && next !== form.zones[0].to) {
      form.zones = [part(list, tokens[count], next, true)];
    }
  });
  await phone.sync();
  falsified.stop();
  assert.ok(falsified.count >= 25, `${falsified.count} requests`);
  await expectAgreement(laptop, phone);
});

test("a zone of which the server has no more than the parts that wait comes again (I4, I7)", async (t) => {
  const { phone, laptop, list } = await open(t);
  const ack = ackOf(phone, list);
  await laptop.write((db) => db.update("items", laptop.item("Milk").id, { title: "Oat milk" }));
  await laptop.sync();
  const to = ackOf(laptop, list);
  const falsified = falsify(phone, (form, count) => { if (count === 0) form.zones = [part(list, ack, to, true)]; });
  await phone.sync();
  falsified.stop();
  assert.ok(falsified.count <= 5, `${falsified.count} requests`);
  assert.ok(phone.item("Oat milk"));
  assert.deepEqual(phone.store.zones().filter(({ isWhole }) => !isWhole), []);
  await expectAgreement(laptop, phone);
});

test("a download in parts whose zone a restored server lacks waits without asking for the rest, and nothing of it is lost (I3, I7)", async (t) => {
  const server = await Server.start(t);
  const phone = await Device.signUp("ada", { server });
  const laptop = await Device.signIn("ada", { server });
  await laptop.sync();
  const backup = join(folder(t), "backup");
  run("backup", "--data", server.data, backup);
  const list = await phone.makeList("Groceries", "Milk");
  await phone.sync();
  await laptop.sync();
  const ack = ackOf(laptop, list);
  await phone.write((db) => db.update("items", phone.item("Milk").id, { title: "Oat milk" }));
  await phone.sync();
  // The first of two parts, before the second one the server is restored.
  const falsified = falsify(laptop, (form, count) => {
    if (count > 0) throw new Error("The answer was lost.");
    form.zones = [part(list, ack, ackOf(phone, list), true)];
  });
  await assert.rejects(laptop.sync(), { code: "offline" });
  falsified.stop();
  await server.kill();
  run("restore", "--replace", "--data", server.data, backup);
  await server.start();
  const asked = falsify(laptop, () => {});
  await laptop.sync();
  asked.stop();
  assert.ok(asked.count <= 4, `${asked.count} requests`);
  await expectAgreement(phone, laptop);
  assert.ok(laptop.item("Oat milk"));
});
