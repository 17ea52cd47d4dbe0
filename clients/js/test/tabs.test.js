// Tabs that share a storage, of one version of the app and of two.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { MemoryStorage, Tabs } from "../index.js";
import { Device, expectAgreement } from "./devices.js";
import { atEnd, folder, jotSchema, password, Server } from "./server.js";

/** Web Locks of one origin. */
class Locks {
  waiting = [];
  isHeld = false;

  async request(name, { signal }, body) {
    if (this.isHeld) {
      await new Promise((resolve, reject) => {
        this.waiting.push(resolve);
        signal.addEventListener("abort", () => reject(new DOMException("Aborted.", "AbortError")));
      });
    }
    this.isHeld = true;
    try {
      return await body();
    } finally {
      this.isHeld = false;
      this.waiting.shift()?.();
    }
  }
}

/** A tab: a device of a storage, bound to the others. */
async function openTab(t, options, locks) {
  const tab = await Device.open(options);
  tab.tabs = new Tabs(options.name, tab.store, tab.engine, { locks, BroadcastChannel });
  tab.tabs.start();
  atEnd(t, () => tab.tabs.stop());
  return tab;
}

async function until(condition) {
  while (!condition()) await new Promise((resolve) => { setImmediate(resolve); });
}

/** Schemas of three versions of the app: Jot's, one with another column, one with other names. */
function schemas(t) {
  const files = folder(t);
  const save = (name, change) => {
    const form = JSON.parse(readFileSync(jotSchema, "utf8"));
    change(form);
    writeFileSync(join(files, name), JSON.stringify(form));
    return join(files, name);
  };
  const withColour = save("colour.json", ({ tables }) => { tables.items.columns.colour = { type: "text" }; });
  const versions = [1, 2].map((version) => save(`${version}.json`, (form) => { form.version = version; }));
  return { withColour, versions };
}

test("a tab of a newer app leads, and the older one does nothing more (I7)", async (t) => {
  const { withColour } = schemas(t);
  const server = await Server.start(t, { schema: withColour });
  const [storage, locks, name] = [new MemoryStorage(), new Locks(), t.name];
  const old = await openTab(t, { server, storage, name }, locks);
  await old.engine.signUp("ada", password);
  const list = await old.makeList("Groceries", "Milk");
  await old.tabs.sync();
  assert.equal(old.tabs.isLeader, true);

  const statuses = [];
  const tab = await openTab(t, { server, storage, name, schema: withColour }, locks);
  tab.engine.onStatus(({ reason }) => statuses.push(reason));
  await assert.rejects(old.makeList("Late"), { name: "StoreError", code: "database-is-newer" });
  await until(() => tab.tabs.isLeader);
  await assert.rejects(old.tabs.sync(), { code: "offline" });
  assert.match(old.engine.status.reason, /Load the page again/);
  // It still shows what it had.
  assert.deepEqual(old.titles(list), ["Milk"]);

  const laptop = await Device.signIn("ada", { server, schema: withColour });
  await laptop.sync();
  await laptop.write((db) => db.update("items", laptop.item("Milk").id, { colour: "white" }));
  await laptop.sync();
  await tab.tabs.sync();
  assert.equal(tab.item("Milk").colour, "white");
  assert.deepEqual(statuses.filter((reason) => reason?.includes("Load the page")), []);
  await expectAgreement(laptop, await Device.signIn("ada", { server, schema: withColour }));
});

test("an answer that comes after a newer app has opened the storage is not applied by the older one (I7)", async (t) => {
  const { withColour } = schemas(t);
  const server = await Server.start(t, { schema: withColour });
  const storage = new MemoryStorage();
  const old = await Device.signUp("ada", { server, storage });
  await old.makeList("Groceries", "Milk");
  await old.sync();
  const laptop = await Device.signIn("ada", { server, schema: withColour });
  await laptop.sync();
  await laptop.write((db) => db.update("items", laptop.item("Milk").id, { colour: "white" }));
  await laptop.sync();

  const { transport } = old.engine;
  let tab;
  old.engine.transport = {
    request: async (request) => {
      const answer = await transport.request(request);
      tab ??= await Device.open({ server, storage, schema: withColour });
      return answer;
    },
  };
  await assert.rejects(old.sync(), { code: "offline" });
  await old.store.catchUp();
  assert.equal(old.store.ended.code, "database-is-newer");
  await assert.rejects(old.engine.signIn("ada", password), { code: "database-is-newer" });
  await expectAgreement(tab, laptop);
  assert.equal(tab.item("Milk").colour, "white");
});

test("tabs of one version go on beside each other when one of them is closed", async (t) => {
  const server = await Server.start(t);
  const [storage, locks, name] = [new MemoryStorage(), new Locks(), t.name];
  const first = await openTab(t, { server, storage, name }, locks);
  await first.engine.signUp("ada", password);
  const second = await openTab(t, { server, storage, name }, locks);
  const list = await second.makeList("Groceries", "Milk");
  await second.tabs.sync();
  assert.equal(second.tabs.isLeader, false);
  assert.equal(second.store.waitingOperations, 0);
  first.tabs.stop();
  await until(() => second.tabs.isLeader);
  await second.makeList("Books");
  await second.tabs.sync();
  assert.deepEqual(second.titles(list), ["Milk"]);
  await expectAgreement(second, await Device.signIn("ada", { server }));
});

test("a sync that a tab waits for is taken over by the tab that leads next", async (t) => {
  const server = await Server.start(t);
  const [storage, locks, name] = [new MemoryStorage(), new Locks(), t.name];
  const first = await openTab(t, { server, storage, name }, locks);
  await first.engine.signUp("ada", password);
  await first.tabs.sync();
  const second = await openTab(t, { server, storage, name }, locks);
  const third = await openTab(t, { server, storage, name }, locks);
  let isAsked = false;
  first.engine.transport = { request: () => { isAsked = true; return new Promise(() => {}); } };
  await third.makeList("Groceries");
  const end = third.tabs.sync();
  await until(() => isAsked);
  first.tabs.stop();
  await end;
  assert.deepEqual([second.tabs.isLeader, third.store.waitingOperations], [true, 0]);
});

test("a tab that waited for the sync of another one has what that has brought (I7)", async (t) => {
  const server = await Server.start(t);
  const [storage, locks, name] = [new MemoryStorage(), new Locks(), t.name];
  const first = await openTab(t, { server, storage, name }, locks);
  await first.engine.signUp("ada", password);
  const list = await first.makeList("Groceries");
  await first.tabs.sync();
  // Once the other tab has synced, this one reads slowly.
  const waiting = [];
  let isSlow = false;
  const slow = {
    __proto__: storage,
    load: () => storage.load(),
    commit: (...words) => storage.commit(...words),
    changesSince: async (version) => {
      if (isSlow) await new Promise((resolve) => { waiting.push(resolve); });
      return storage.changesSince(version);
    },
  };
  const second = await openTab(t, { server, storage: slow, name }, locks);
  await until(() => second.tabs.timer === null);
  await second.store.catchUp();
  const laptop = await Device.signIn("ada", { server });
  await laptop.sync();
  await laptop.write((db) => db.update("lists", list, { title: "Food" }));
  await laptop.sync();
  isSlow = true;
  const end = second.tabs.sync().then(() => second.store.get("lists", list).title);
  await until(() => second.tabs.waiting.size === 0);
  isSlow = false;
  // What was told to resolve has its turn before what was read.
  setImmediate(() => { for (const go of waiting) go(); });
  assert.equal(await end, "Food");
});

test("an app of an earlier version does not open the storage of a later one", async (t) => {
  const { versions: [earlier, later] } = schemas(t);
  const server = await Server.start(t);
  const storage = new MemoryStorage();
  const phone = await Device.open({ server, storage, schema: later });
  await assert.rejects(Device.open({ server, storage, schema: earlier }), { name: "StoreError", code: "database-is-newer" });
  await phone.makeList("Groceries");
  await phone.store.close();
});

test("a sign-out that removes the data keeps what another tab writes meanwhile, and the session (I3)", async (t) => {
  const server = await Server.start(t);
  const storage = new MemoryStorage();
  const first = await Device.signUp("ada", { server, storage });
  const list = await first.makeList("Groceries", "Milk");
  await first.sync();
  const second = await Device.open({ server, storage });
  const { commit } = storage;
  storage.commit = async (...words) => {
    storage.commit = commit;
    await first.write((db) => db.update("lists", list, { title: "Food" }));
    return storage.commit(...words);
  };
  await assert.rejects(second.engine.signOut({ erases: true }), RangeError);
  // What another tab wrote before counts too.
  await assert.rejects(second.engine.signOut({ erases: true }), RangeError);
  assert.notEqual(second.engine.status.state, "signedOut");
  await first.store.catchUp();
  assert.deepEqual([first.store.account.isSignedIn, first.store.waitingOperations], [true, 1]);
  assert.equal(first.store.get("lists", list).title, "Food");
  await first.sync();
  await second.engine.signOut({ erases: true });
  await first.store.catchUp();
  assert.deepEqual([first.store.account.user, first.store.all("lists")], [null, []]);
  const laptop = await Device.signIn("ada", { server });
  await laptop.sync();
  assert.equal(laptop.store.get("lists", list).title, "Food");
  // Of the app, and of nobody.
  assert.deepEqual([...first.storage.entries.values()].map(([store, key]) => [store, key]).sort(), [["local", "columns"], ["local", "device"]]);
});

test("beside a suspended tab that leads, a sync ends and the status says why, until it goes on (I3)", async (t) => {
  const server = await Server.start(t);
  const [storage, locks, name] = [new MemoryStorage(), new Locks(), t.name];
  const first = await openTab(t, { server, storage, name }, locks);
  await first.engine.signUp("ada", password);
  await first.tabs.sync();
  const second = await openTab(t, { server, storage, name }, locks);
  await until(() => second.tabs.timer === null);
  const { channel } = first.tabs;
  const receive = channel.onmessage;
  const missed = [];
  channel.onmessage = (message) => missed.push(message);
  // The time of the test.
  const timers = [];
  second.engine.timers = { setTimeout: (body, after) => timers.push({ body, after }), clearTimeout: () => {} };
  await second.makeList("Groceries");
  const end = second.tabs.sync();
  assert.deepEqual(timers.map(({ after }) => after), [10_000]);
  timers[0].body();
  await assert.rejects(end, { name: "SyncError", code: "offline", message: /suspended/ });
  assert.match(second.engine.status.reason, /suspended/);

  channel.onmessage = receive;
  for (const message of missed) receive(message);
  await second.tabs.sync();
  assert.deepEqual([second.engine.status.state, second.store.waitingOperations], ["idle", 0]);
});

test("what a tab writes for a user whose data another tab has removed is not the next user's (I10)", async (t) => {
  const server = await Server.start(t);
  const storage = new MemoryStorage();
  const first = await Device.signUp("ada", { server, storage });
  await first.makeList("Groceries");
  await first.sync();
  const second = await Device.open({ server, storage });
  await first.engine.signOut({ erases: true });
  await assert.rejects(second.write((db) => db.insert("lists", { title: "Ada's secret" })), { name: "StoreError", code: "signed-out" });
  await first.store.catchUp();
  assert.deepEqual([first.store.all("lists"), first.store.waitingOperations], [[], 0]);
  // Before somebody has signed in it is for whoever does.
  await second.write((db) => db.insert("lists", { title: "Books" }));
  await first.engine.signUp("bob", password);
  await first.sync();
  assert.deepEqual(first.store.all("lists").map(({ title }) => title), ["Books"]);
});

for (const isLost of [false, true]) {
  test(`a tab that has not read what another one has sent${isLost ? ", and had no answer to," : ""} is no copy (I1)`, async (t) => {
    const server = await Server.start(t);
    const storage = new MemoryStorage();
    const first = await Device.signUp("ada", { server, storage });
    const list = await first.makeList("Groceries");
    await first.sync();
    const second = await Device.open({ server, storage });
    const { device } = second.store.account;
    await first.write((db) => db.update("lists", list, { title: "Food" }));
    const { transport } = first.engine;
    if (isLost) first.engine.transport = { request: (request) => transport.request(request).then(() => { throw new Error("The answer was lost."); }) };
    await first.sync().catch(() => {});
    await second.sync();
    await first.store.catchUp();
    assert.deepEqual([first.store.account.device, first.store.waitingOperations, second.store.get("lists", list).title], [device, 0, "Food"]);
    const { devices } = await second.engine.request("GET", "v1/devices");
    assert.equal(devices.length, 1);
  });
}
