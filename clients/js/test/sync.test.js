// Devices and a real server.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { Device, expectAgreement } from "./devices.js";
import { atEnd, folder, jot, run, Server } from "./server.js";

test("edits made offline on two devices converge (I7)", async (t) => {
  const server = await Server.start(t);
  const phone = await Device.signUp("ada", { server });
  const list = await phone.makeList("Groceries", "Milk", "Bread");
  await phone.sync();
  const laptop = await Device.signIn("ada", { server });
  await laptop.sync();
  assert.deepEqual(laptop.titles(list), ["Milk", "Bread"]);

  const milk = phone.item("Milk").id;
  await phone.write((db) => db.increment("items", milk, "amount", 2));
  await laptop.write((db) => db.increment("items", milk, "amount", 3));
  await phone.write((db) => db.update("items", milk, { note: "whole", tags: ["dairy", "cold"] }));
  await laptop.write((db) => db.update("items", milk, { tags: ["dairy", "shop"] }));
  await phone.write((db) => db.move("items", [milk], "last"));
  await laptop.write((db) => db.insert("items", { list_id: list, title: "Tea", position: db.positions("items", 1, "first", { parent: list })[0] }));
  await laptop.write((db) => db.update("items", laptop.item("Bread").id, { done: true }));
  await expectAgreement(phone, laptop);
  const item = laptop.store.get("items", milk);
  assert.equal(item.amount, 6);
  assert.equal(item.note, "whole");
  assert.deepEqual(item.tags, ["cold", "dairy", "shop"]);
  assert.deepEqual(phone.titles(list), ["Tea", "Bread", "Milk"]);
  assert.equal(phone.item("Bread").done, true);
});

test("a device of the Swift library and one of this converge, with conflicts and deletions (I7, I3)", async (t) => {
  const server = await Server.start(t);
  const file = join(folder(t), "jot.db");
  const swift = (...words) => jot(file, server, ...words);
  await swift("sign-up", "ada");
  await swift("new", "Groceries");
  await swift("add", "Groceries", "Caf\u00e9 \u{1F600}");
  await swift("add", "Groceries", "Bread");
  await swift("sync");
  const page = await Device.signIn("ada", { server });
  await page.sync();
  const [list] = page.store.all("lists");
  assert.deepEqual(page.titles(list.id), ["Caf\u00e9 \u{1F600}", "Bread"]);

  // Both rename one item, whose policy asks, and both move and count.
  await page.write((db) => {
    db.update("items", page.item("Bread").id, { title: "Rye" });
    db.move("items", [page.item("Bread").id], "first");
  });
  await swift("rename", "Groceries", "Bread", "Toast");
  await page.sync();
  await swift("sync");
  await page.sync();
  const [conflict] = page.store.all("conflicts");
  assert.equal(conflict.column_name, "title");
  assert.deepEqual([conflict.winner_value, conflict.loser_value].sort(), ["Rye", "Toast"]);
  assert.equal(page.item("Rye") !== undefined, conflict.winner_value === "Rye");
  const shown = await swift("items", "Groceries");
  for (const title of page.titles(list.id)) assert.ok(shown.includes(title), shown);
});

test("a server that is killed at any moment takes each edit once (I1, I2)", async (t) => {
  const server = await Server.start(t);
  const phone = await Device.signUp("ada", { server });
  const list = await phone.makeList("Counter", "Clicks");
  await phone.sync();
  const item = phone.item("Clicks").id;
  for (let round = 0; round < 6; round++) {
    await phone.write((db) => db.increment("items", item, "amount"));
    const sync = phone.sync().catch((error) => assert.equal(error.code, "offline"));
    // Before the request has come, while it is processed, or when its answer is on the way.
    for (let turn = 0; turn < round * 3; turn++) await new Promise(setImmediate);
    await server.kill();
    await sync;
    await server.start();
  }
  const laptop = await Device.signIn("ada", { server });
  await expectAgreement(phone, laptop);
  assert.equal(laptop.store.get("items", item).amount, 7);
  assert.deepEqual(laptop.titles(list), ["Clicks"]);
});

test("an answer that is lost is asked for again, and takes effect once (I1)", async (t) => {
  const server = await Server.start(t);
  const phone = await Device.signUp("ada", { server });
  const list = await phone.makeList("Counter", "Clicks");
  await phone.sync();
  const { transport } = phone.engine;
  const item = phone.item("Clicks").id;
  let lost = 0;
  phone.engine.transport = {
    request: async (request) => {
      const answer = await transport.request(request);
      if (lost++ < 1) throw new Error("The answer was lost.");
      return answer;
    },
  };
  await phone.write((db) => db.increment("items", item, "amount", 5));
  await assert.rejects(phone.sync(), { code: "offline" });
  await phone.sync();
  await phone.sync();
  const laptop = await Device.signIn("ada", { server });
  await expectAgreement(phone, laptop);
  assert.equal(laptop.store.get("items", item).amount, 6);
  assert.deepEqual(laptop.titles(list), ["Clicks"]);
});

test("a refused change set waits in quarantine, and those behind it go on (I3, I12)", async (t) => {
  const server = await Server.start(t);
  const ada = await Device.signUp("ada", { server });
  const bob = await Device.signUp("bob", { server });
  const list = await ada.makeList("Ours", "Milk");
  await ada.sync();
  await ada.write((db) => db.insert("members", { zone: list, name: "bob", role: "viewer" }));
  await ada.sync();
  const { memberships } = await bob.engine.request("GET", "v1/memberships");
  await bob.engine.request("POST", `v1/memberships/${memberships[0].id}/accept`);
  await bob.sync();
  assert.deepEqual(bob.titles(list), ["Milk"]);

  // A viewer may not write.
  const milk = bob.item("Milk").id;
  await bob.write((db) => db.update("items", milk, { title: "Beer" }));
  const own = await bob.makeList("Mine", "Tea");
  assert.equal(bob.store.get("items", milk).title, "Beer");
  await bob.sync();
  assert.equal(bob.store.get("items", milk).title, "Milk");
  assert.deepEqual(bob.titles(own), ["Tea"]);
  const [refused] = bob.store.quarantined();
  assert.equal(refused.problem.code, "role-insufficient");
  // What was rolled back can't be undone once more: the list is the last transaction of this device.
  assert.deepEqual(await bob.store.undo(), { changed: 2, kept: 0 });
  assert.deepEqual(bob.store.undoable, { undo: false, redo: true });
  await bob.store.redo();
  assert.deepEqual(refused.operations[0].columns, { title: "Beer" });
  // The refusal is acknowledged, and does not come again.
  await bob.sync();
  assert.equal(bob.store.quarantined().length, 1);

  await ada.write((db) => db.update("members", ada.store.all("members").find(({ name }) => name === "bob").id, { role: "editor" }));
  await ada.sync();
  await bob.sync();
  await bob.store.resend(refused.number);
  assert.equal(bob.store.get("items", milk).title, "Beer");
  await bob.sync();
  await ada.sync();
  assert.equal(ada.store.get("items", milk).title, "Beer");
  assert.deepEqual(bob.store.quarantined(), []);

  // After the loss of the zone its records leave the device (I10), and unsent edits of it wait in quarantine.
  await ada.write((db) => db.delete("members", ada.store.all("members").find(({ name }) => name === "bob").id));
  await ada.sync();
  await bob.write((db) => db.update("items", milk, { title: "Wine" }));
  await bob.sync();
  assert.equal(bob.store.get("items", milk), undefined);
  assert.equal(bob.store.get("lists", list), undefined);
  assert.equal(bob.store.quarantined()[0].operations[0].columns.title, "Wine");
  assert.deepEqual(bob.titles(own), ["Tea"]);
});

test("a dependent of a refused creation names it, and both are resent together (I3)", async (t) => {
  const server = await Server.start(t);
  const ada = await Device.signUp("ada", { server });
  const bob = await Device.signUp("bob", { server });
  const list = await ada.makeList("Ours");
  await ada.write((db) => db.insert("members", { zone: list, name: "bob", role: "viewer" }));
  await ada.sync();
  const { memberships } = await bob.engine.request("GET", "v1/memberships");
  await bob.engine.request("POST", `v1/memberships/${memberships[0].id}/accept`);
  await bob.sync();
  const item = await bob.write((db) => db.insert("items", {
    list_id: list, title: "New", position: db.positions("items", 1, "last", { parent: list })[0],
  }));
  await bob.write((db) => db.update("items", item, { done: true }));
  await bob.sync();
  assert.equal(bob.store.get("items", item), undefined);
  const [first, second] = bob.store.quarantined();
  assert.equal(second.because, first.number);
  await ada.write((db) => db.update("members", ada.store.all("members").find(({ name }) => name === "bob").id, { role: "editor" }));
  await ada.sync();
  await bob.sync();
  await bob.store.resend(first.number, (operations) => { operations[0].columns.title = "Newer"; });
  await bob.sync();
  await ada.sync();
  assert.deepEqual(bob.store.quarantined(), []);
  assert.equal(ada.store.get("items", item).title, "Newer");
  assert.equal(ada.store.get("items", item).done, true);
});

test("a reset keeps the edits that wait (I3)", async (t) => {
  const server = await Server.start(t);
  const phone = await Device.signUp("ada", { server });
  const list = await phone.makeList("Groceries", "Milk", "Bread");
  await phone.sync();
  const laptop = await Device.signIn("ada", { server });
  await laptop.sync();
  await laptop.write((db) => {
    db.update("items", laptop.item("Milk").id, { title: "Oat milk" });
    db.insert("items", { list_id: list, title: "Tea", position: db.positions("items", 1, "last", { parent: list })[0] });
  });
  await phone.write((db) => db.delete("items", phone.item("Bread").id));
  await phone.sync();
  // As an operator does: all zones of all devices come again.
  run("devices", "reset", "--all", "--data", server.data);
  await expectAgreement(laptop, phone);
  assert.deepEqual(phone.titles(list), ["Oat milk", "Tea"]);
  assert.deepEqual(laptop.store.quarantined(), []);
});

test("a deletion wins, and the edit that it met is in the conflict log (I3, I8)", async (t) => {
  const server = await Server.start(t);
  const phone = await Device.signUp("ada", { server });
  const list = await phone.makeList("Groceries", "Milk");
  await phone.sync();
  const laptop = await Device.signIn("ada", { server });
  await laptop.sync();
  const milk = phone.item("Milk").id;
  await phone.write((db) => db.delete("items", milk));
  await laptop.write((db) => db.update("items", milk, { note: "organic" }));
  await phone.sync();
  await laptop.sync();
  await expectAgreement(phone, laptop);
  assert.deepEqual(laptop.titles(list), []);
  const [conflict] = laptop.store.all("conflicts");
  assert.equal(conflict.policy, "delete");
  assert.equal(conflict.loser_value, "organic");
  // An undo brings it back, explicitly.
  assert.deepEqual(await phone.store.undo(), { changed: 1, kept: 0 });
  await expectAgreement(phone, laptop);
  assert.deepEqual(laptop.titles(list), ["Milk"]);
  await phone.store.redo();
  await expectAgreement(phone, laptop);
  assert.deepEqual(laptop.titles(list), []);
});

test("a copy of a device gets an identity of its own, and sends nothing twice (I1)", async (t) => {
  const server = await Server.start(t);
  const phone = await Device.signUp("ada", { server });
  const list = await phone.makeList("Counter", "Clicks");
  await phone.sync();
  const item = phone.item("Clicks").id;
  await phone.write((db) => db.increment("items", item, "amount"));
  // The database is copied with an edit in its outbox, which the original sends first.
  const storage = Object.assign(Object.create(Object.getPrototypeOf(phone.storage)), {
    version: phone.storage.version, entries: new Map(phone.storage.entries), log: [],
  });
  const copy = await Device.open({ server, storage });
  await phone.sync();
  await phone.write((db) => db.increment("items", item, "amount", 10));
  await phone.sync();
  await copy.write((db) => db.increment("items", item, "amount", 100));
  await copy.sync();
  assert.notEqual(copy.store.account.device, phone.store.account.device);
  await expectAgreement(phone, copy);
  assert.equal(phone.store.get("items", item).amount, 112);
  assert.deepEqual(copy.store.quarantined(), []);
  assert.deepEqual(copy.titles(list), ["Clicks"]);
});

test("a long download comes in pages, whole or not at all (I6)", async (t) => {
  const server = await Server.start(t);
  const phone = await Device.signUp("ada", { server });
  const list = await phone.makeList("Long");
  const note = "x".repeat(9000);
  for (let batch = 0; batch < 2; batch++) {
    await phone.write((db) => {
      for (const position of db.positions("items", 400, "last", { parent: list })) db.insert("items", { list_id: list, title: "Item", note, position });
    });
  }
  await phone.sync();
  const laptop = await Device.signIn("ada", { server });
  const seen = new Set();
  laptop.store.live((db) => db.all("items").length, (count) => seen.add(count), { tables: ["items"] });
  await laptop.sync();
  assert.deepEqual([...seen], [0, 800]);
  await expectAgreement(phone, laptop);
});

test("two stores of one storage, as two tabs, see each other's writes, and lose none (I2)", async (t) => {
  const server = await Server.start(t);
  const first = await Device.signUp("ada", { server });
  const list = await first.makeList("Shared", "Milk");
  const second = await Device.open({ server, storage: first.storage });
  const item = second.item("Milk").id;
  await Promise.all([...Array(20).keys()].map((index) =>
    (index % 2 ? first : second).write((db) => db.increment("items", item, "amount"))));
  await first.sync();
  await second.store.catchUp();
  assert.equal(second.store.get("items", item).amount, 21);
  assert.equal(second.store.waitingOperations, 0);
  await Promise.all([first.sync(), second.sync()]);
  const laptop = await Device.signIn("ada", { server });
  await laptop.sync();
  assert.equal(laptop.store.get("items", item).amount, 21);
  assert.deepEqual(laptop.titles(list), ["Milk"]);
});

test("a change arrives by the stream of events", async (t) => {
  const server = await Server.start(t);
  const phone = await Device.signUp("ada", { server });
  const list = await phone.makeList("Groceries", "Milk");
  await phone.sync();
  const laptop = await Device.signIn("ada", { server });
  laptop.engine.canStream = true;
  laptop.engine.start();
  atEnd(t, () => laptop.engine.stop());
  const arrives = (title) => new Promise((resolve) => {
    const end = laptop.store.live((db) => db.list("items", list).map(({ title }) => title), (titles) => {
      if (titles.includes(title)) queueMicrotask(() => resolve(end()));
    });
  });
  await arrives("Milk");
  const tea = arrives("Tea");
  await phone.write((db) => db.insert("items", { list_id: list, title: "Tea", position: db.positions("items", 1, "last", { parent: list })[0] }));
  await phone.sync();
  await tea;
});

test("what a restored server has lost comes back from the device, under the edits that wait (I2, I3)", async (t) => {
  const server = await Server.start(t);
  const phone = await Device.signUp("ada", { server });
  const list = await phone.makeList("Groceries", "Milk", "Bread", "Stale cake");
  await phone.sync();
  const file = join(folder(t), "backup");
  run("backup", "--data", server.data, file);
  // After the backup: a deletion, a change, a record, a list, all confirmed.
  await phone.write((db) => db.delete("items", phone.item("Stale cake").id));
  await phone.write((db) => db.update("items", phone.item("Milk").id, { title: "Oat milk", note: "two" }));
  const lost = await phone.makeList("Lost list", "Lost item");
  await phone.write((db) => db.insert("items", { list_id: list, title: "Tea", position: db.positions("items", 1, "last", { parent: list })[0] }));
  await phone.sync();
  await phone.sync();
  await server.kill();
  run("restore", "--replace", "--data", server.data, file);
  await phone.write((db) => db.update("items", phone.item("Tea").id, { amount: 3 }));
  await server.start();
  await phone.sync();
  await phone.sync();
  assert.deepEqual(phone.store.quarantined(), []);
  assert.equal(phone.store.waitingOperations, 0);
  const laptop = await Device.signIn("ada", { server });
  await expectAgreement(phone, laptop);
  // The deleted one does not come back (I8).
  assert.deepEqual(laptop.titles(list), ["Oat milk", "Bread", "Tea"]);
  assert.equal(laptop.item("Tea").amount, 3);
  assert.deepEqual(laptop.titles(lost), ["Lost item"]);
});
