// The client in a real browser.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import { Browser } from "./chromium.js";
import { Device } from "./devices.js";
import { folder, password, Server } from "./server.js";

const page = fileURLToPath(new URL("page", import.meta.url));

async function start(t) {
  const server = await Server.start(t, { more: ["--web", page] });
  const profile = folder(t);
  const browser = await Browser.start(t, profile);
  return { server, browser, profile };
}

const liveDevices = async (device) => (await device.engine.request("GET", "v1/devices")).devices.filter(({ has_session: isLive }) => isLive);
const isOpen = () => globalThis.opened !== undefined;

async function signUp(tab) {
  await tab.until(isOpen);
  await tab.run(async (name, password) => {
    await opened.engine.signUp(name, password);
    await opened.tabs.sync();
  }, "ada", password);
}

async function signIn(tab) {
  await tab.until(isOpen);
  await tab.run(async (name, password) => {
    await opened.engine.signIn(name, password);
    await opened.tabs.sync();
  }, "ada", password);
}

const insertList = async (title) => opened.store.write((db) => db.insert("lists", { title }));
const lists = () => opened.store.all("lists", { order: ["title"] }).map(({ title }) => title);

test("a page syncs by a cookie that its scripts cannot read", async (t) => {
  const { server, browser } = await start(t);
  const tab = await browser.open(`${server.address}/`);
  await signUp(tab);
  await tab.run(insertList, "Groceries");
  await tab.run(() => opened.tabs.sync());
  assert.equal(await tab.run(() => document.cookie), "");
  assert.equal(await tab.run(() => JSON.stringify([...opened.store.state.store("local").values()]).includes("holdfast_session")), false);
  assert.equal(await tab.run(() => opened.store.state.store("local").get("device").token), null);
  const urls = [`${server.address}/v1/sync`];
  const { cookies } = await tab.send("Network.getCookies", { urls });
  assert.deepEqual(cookies.map(({ name, httpOnly, sameSite, path }) => ({ name, httpOnly, sameSite, path })),
    [{ name: "holdfast_session", httpOnly: true, sameSite: "Strict", path: "/v1" }]);

  const phone = await Device.signIn("ada", { server });
  await phone.sync();
  assert.deepEqual(phone.store.all("lists").map(({ title }) => title), ["Groceries"]);
  // What the phone writes comes to the page by the stream of events.
  await phone.makeList("Hardware");
  await phone.sync();
  await tab.until(() => opened.store.all("lists").length === 2);

  // Without the field of the client, the cookie counts for nothing (I10).
  assert.equal(await tab.run(async () => (await fetch("/v1/devices")).status), 401);
  await tab.run(() => opened.engine.signOut());
  assert.deepEqual((await tab.send("Network.getCookies", { urls })).cookies, []);
});

test("an EventSource opens a stream by a ticket, with a bearer token and with a cookie, and each ticket once (I10)", async (t) => {
  const { server, browser } = await start(t);
  const tab = await browser.open(`${server.address}/`);
  const phone = await Device.signUp("ada", { server });
  const list = await phone.makeList("Groceries");
  await phone.sync();
  const session = (headers) => tab.run(async (password, headers) => {
    const device = { name: "board" };
    const body = JSON.stringify({ name: "ada", password, device });
    const answer = await fetch("/v1/sessions", { method: "POST", body, headers: { ...headers, "Content-Type": "application/json" } });
    return answer.json();
  }, password, headers);
  const bearer = { Authorization: `Bearer ${(await session({})).token}` };
  const { token, token_id: id } = await session({ "Holdfast-Session": "cookie" });
  assert.equal(token, undefined);
  const cookie = { "Holdfast-Session": `cookie ${id}` };
  const follow = (address) => tab.run((address) => {
    const heard = { hello: 0, zones: [] };
    globalThis.source = new EventSource(address);
    source.addEventListener("hello", () => heard.hello++);
    source.addEventListener("zones", ({ data }) => heard.zones.push(...JSON.parse(data).zones));
    globalThis.heard = heard;
  }, address);
  const isRefused = () => source.readyState === EventSource.CLOSED;
  // The cookie goes along, and does not count without the field that an EventSource can't send.
  await follow("/v1/events");
  await tab.until(isRefused);
  for (const [title, headers] of Object.entries({ bearer, cookie })) {
    const ticket = await tab.run(async (headers) => (await (await fetch("/v1/events/tickets", { method: "POST", headers })).json()).ticket, headers);
    await follow(`/v1/events?ticket=${ticket}`);
    await tab.until(() => heard.hello === 1);
    await phone.write((db) => db.update("lists", list, { title }));
    await phone.sync();
    await tab.until((list) => heard.zones.includes(list), list);
    await tab.run(() => source.close());
    await follow(`/v1/events?ticket=${ticket}`);
    await tab.until(isRefused);
    assert.equal(await tab.run(() => heard.hello), 0);
  }
});

test("the example of WEB.md follows zones by an EventSource, also when the server was away", async (t) => {
  const example = /```js\n(async function follow[^]*?)```/.exec(readFileSync(new URL("../../../docs/WEB.md", import.meta.url), "utf8"))[1];
  const { server, browser } = await start(t);
  const tab = await browser.open(`${server.address}/`);
  const phone = await Device.signUp("ada", { server });
  const list = await phone.makeList("Groceries");
  await phone.sync();
  await tab.run(`async (password) => {
    ${example}
    globalThis.heard = [];
    const body = JSON.stringify({ name: "ada", password, device: { name: "board" } });
    const answer = await fetch("/v1/sessions", { method: "POST", body, headers: { "Content-Type": "application/json" } });
    follow((await answer.json()).token, (zones) => heard.push(zones));
  }`, password);
  for (const title of ["Food", "Hardware"]) {
    await tab.until(() => heard.some((zones) => zones.length === 0));
    await tab.run(() => heard.splice(0));
    await phone.write((db) => db.update("lists", list, { title }));
    await phone.sync();
    await tab.until((list) => heard.some((zones) => zones.includes(list)), list);
    await tab.run(() => heard.splice(0));
    await server.kill();
    await server.start();
  }
});

test("somebody else's cookie of the same origin gets nothing of a store, and gives it nothing (I3, I10)", async (t) => {
  const { server, browser } = await start(t);
  const tab = await browser.open(`${server.address}/`);
  await signUp(tab);
  const bob = await Device.signUp("bob", { server });
  await bob.makeList("Bob's");
  await bob.sync();
  // A page of the same origin, without the client.
  const board = await browser.open(`${server.address}/`);
  await board.run(async (password) => {
    const body = JSON.stringify({ name: "bob", password, device: { name: "board" } });
    await fetch("/v1/sessions", { method: "POST", body, headers: { "Holdfast-Session": "cookie", "Content-Type": "application/json" } });
  }, password);
  await tab.run(() => opened.store.write((db) => db.insert("lists", { title: "Ada's" })));
  await tab.run(() => opened.tabs.sync().catch(() => {}));
  await tab.until(() => opened.engine.status.state === "signedOut");
  assert.deepEqual(await tab.run(() => opened.store.all("lists").map(({ title }) => title)), ["Ada's"]);
  await tab.run(() => opened.engine.signOut());
  await bob.sync();
  assert.deepEqual(bob.store.all("lists").map(({ title }) => title), ["Bob's"]);
  assert.equal((await liveDevices(bob)).length, 2);
  await tab.run(async (password) => {
    await opened.engine.signIn("ada", password);
    await opened.tabs.sync();
  }, password);
  assert.equal(await tab.run(() => opened.store.waitingOperations), 0);
});

test("one of two tabs syncs, and when it is closed the other does (I2)", async (t) => {
  const { server, browser } = await start(t);
  const first = await browser.open(`${server.address}/`);
  await signUp(first);
  const second = await browser.open(`${server.address}/`);
  await second.until(isOpen);
  assert.equal(await first.run(() => opened.tabs.isLeader), true);
  assert.equal(await second.run(() => opened.tabs.isLeader), false);
  // What one writes the other shows; the leader sends it.
  await second.run(insertList, "Of the second");
  await first.until(() => opened.store.all("lists").length === 1);
  await second.run(() => opened.tabs.sync());
  await second.until(() => opened.store.waitingOperations === 0);
  await first.run(insertList, "Of the first");
  await second.until(() => opened.store.all("lists").length === 2);
  // Both at once: none is lost.
  await Promise.all([first, second].map((tab, index) => tab.run(async (index) => {
    for (let number = 0; number < 10; number++) await opened.store.write((db) => db.insert("lists", { title: `${index} ${number}` }));
  }, index)));
  await first.close();
  await second.until(() => opened.tabs.isLeader);
  await second.run(() => opened.tabs.sync());
  const phone = await Device.signIn("ada", { server });
  await phone.sync();
  assert.equal(phone.store.all("lists").length, 22);
  assert.deepEqual(await second.run(lists), phone.store.all("lists", { order: ["title"] }).map(({ title }) => title));
});

test("an edit that was not sent survives SIGKILL of the browser and of the server (I2, I1)", async (t) => {
  const { server, browser, profile } = await start(t);
  const tab = await browser.open(`${server.address}/?bearer`);
  await signUp(tab);
  await tab.run(insertList, "Before");
  await tab.run(() => opened.tabs.sync());
  await server.kill();
  await tab.run(insertList, "Without a network");
  // At once: the write has returned, so it is on the disk.
  await browser.kill();
  await server.start();
  const again = await Browser.start(t, profile);
  const reopened = await again.open(`${server.address}/?bearer`);
  await reopened.until(isOpen);
  assert.deepEqual(await reopened.run(lists), ["Before", "Without a network"]);
  await reopened.run(() => opened.tabs.sync());
  const phone = await Device.signIn("ada", { server });
  await phone.sync();
  assert.deepEqual(phone.store.all("lists", { order: ["title"] }).map(({ title }) => title), ["Before", "Without a network"]);
});

test("a write with a value that the database can't keep leaves nothing of it there (I6)", async (t) => {
  const { server, browser } = await start(t);
  const tab = await browser.open(`${server.address}/`);
  await signUp(tab);
  const failed = await tab.run(async () => {
    const { storage, state } = opened.store;
    return storage.commit(state.version, [["records/lists", "a", { id: "a" }], ["records/lists", "b", { id() {} }]]).catch(({ name }) => name);
  });
  assert.equal(failed, "DataCloneError");
  assert.deepEqual(await tab.run(async () => {
    const { storage, state } = opened.store;
    const { version, entries } = await storage.load();
    return [version === state.version, entries.some(([store]) => store === "records/lists")];
  }), [true, false]);
  // Nothing of an app gets that far.
  const codes = await tab.run(() => Promise.all([() => {}, 5, {}, "", "x".repeat(65), "\ud800"].map((zone) => opened.store.write((db) => {
    db.insert("lists", { title: "Phantom" });
    db.insert("members", { zone, name: "bob", role: "viewer" });
  }).then(() => "written", ({ code }) => code))));
  assert.deepEqual(codes, Array(6).fill("invalid-id"));
  assert.equal(await tab.run(() => opened.store.follow("x".repeat(65)).catch(({ code }) => code)), "record-unknown");
  await tab.run(insertList, "Groceries");
  await tab.run(() => opened.tabs.sync());
  await tab.load(`${server.address}/`);
  await tab.until(isOpen);
  assert.deepEqual(await tab.run(lists), ["Groceries"]);
});

test("a page whose database is deleted says so, and starts again when it is loaded", async (t) => {
  const { server, browser } = await start(t);
  const tab = await browser.open(`${server.address}/?bearer`);
  await signUp(tab);
  await tab.run(insertList, "Groceries");
  await tab.run(() => opened.tabs.sync());
  await tab.send("Storage.clearDataForOrigin", { origin: server.address, storageTypes: "indexeddb" });
  await tab.until(() => opened.engine.status.state === "offline");
  assert.match(await tab.run(() => opened.engine.status.reason), /The browser has closed the database.* Load the page again/);
  const codes = await tab.run(() => Promise.all([
    opened.store.write((db) => db.insert("lists", { title: "Late" })), opened.engine.signIn("ada", "x"),
  ].map((end) => end.then(() => "done", ({ code }) => code))));
  assert.deepEqual(codes, ["database-closed", "database-closed"]);
  assert.deepEqual(await tab.run(lists), ["Groceries"]);
  await tab.load(`${server.address}/?bearer`);
  await signIn(tab);
  assert.deepEqual(await tab.run(lists), ["Groceries"]);
});

test("a tab of an earlier client loses the database to one of this, which reads what it stored (I3)", async (t) => {
  const { server, browser } = await start(t);
  const first = await browser.open(`${server.address}/client/index.js`);
  await first.run(() => new Promise((resolve) => {
    const request = indexedDB.open("test", 1);
    request.onupgradeneeded = () => { for (const store of ["entries", "log", "meta"]) request.result.createObjectStore(store); };
    request.onsuccess = () => {
      const database = request.result;
      database.onversionchange = () => database.close();
      const record = { id: "a", zone: "a", rev: 0, columns: { title: "Groceries" } };
      const transaction = database.transaction("entries", "readwrite");
      transaction.objectStore("entries").put(["records/lists", "a", record], ["records/lists", "a"]);
      transaction.oncomplete = resolve;
    };
  }));
  const second = await browser.open(`${server.address}/`);
  await second.until(isOpen);
  assert.deepEqual(await second.run(lists), ["Groceries"]);
  // A later one takes it in the same way, and keeps it.
  await first.run(() => new Promise((resolve) => { indexedDB.open("test", 99).onsuccess = resolve; }));
  await second.until(() => opened.store.ended?.code === "database-is-newer");
  const code = await second.run(async () => {
    const { IndexedDBStorage, Store } = await import("/client/index.js");
    return Store.open({ storage: new IndexedDBStorage("test"), schema: opened.store.schema }).catch((error) => error.code);
  });
  assert.equal(code, "database-is-newer");
});
