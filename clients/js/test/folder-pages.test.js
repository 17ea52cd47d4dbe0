// A folder in a real browser, with several tabs.

import assert from "node:assert/strict";
import { test } from "node:test";
import { openBrowser } from "./chromium.js";
import { Device } from "./devices.js";
import { newName, origin, schema, servers, titles } from "./folders.js";
import { password } from "./server.js";

/** A tab with the folder of the page. */
async function openPage(browser) {
  const tab = await browser.open(origin);
  await tab.run(async (server, schema) => {
    const { openBrowserFolder } = await import("/client/index.js");
    globalThis.opened = await openBrowserFolder({ name: "shop", schema, server, app: "test" });
  }, (await servers)[0].address, schema);
  return tab;
}

/** A tab whose page is signed in to home and to the school. */
async function signUpPage(browser) {
  const tab = await openPage(browser);
  const name = newName();
  await tab.run(async (server, name, password) => {
    const { folder, engine } = opened;
    await folder.add("school", { server });
    await Promise.all(["home", "school"].map((database) => engine.engine(database).signUp(name, password)));
  }, (await servers)[1].address, name, password);
  return { tab, name };
}

/** Returns when a page shows lists. Timers of a tab in the background take long. */
const shows = (tab, expected) => tab.run((expected) => new Promise((resolve) => {
  const read = (db) => db.all("lists", { order: ["title"] }).map(({ title }) => title).join();
  opened.folder.live(read, (titles) => { if (titles === expected) resolve(); });
}), expected);

const files = async () => (await indexedDB.databases()).map(({ name }) => name).sort();

test("tabs of a browser share a folder: each reads and writes, one of them syncs each database, and what leaves goes in all (I2, I7, I10)", async (t) => {
  const browser = await openBrowser(t);
  const { tab, name } = await signUpPage(browser);
  const other = await openPage(browser);
  assert.deepEqual(await tab.run(files), ["shop", "shop/folder", "shop/school"]);
  const work = await other.run(() => opened.folder.store("school").write((db) => db.insert("lists", { title: "Work" })));
  await tab.run((work) => opened.folder.write(work, (db) => db.update("lists", work, { title: "School" })), work);
  await other.run(() => opened.folder.write((db) => db.insert("lists", { title: "Attic" })));
  for (const page of [tab, other]) await shows(page, "Attic,School");
  assert.deepEqual(await other.run(() => opened.engine.sync()), { failures: [] });
  const laptop = await Device.signIn(name, { server: (await servers)[1] });
  await laptop.sync();
  assert.deepEqual(titles(laptop.store), ["School"]);

  await other.run(() => opened.folder.add("club"));
  await tab.run(() => new Promise((resolve) => { opened.folder.onDatabases((databases) => { if (databases.length === 3) resolve(); }); }));
  // The tab that syncs is closed: the other one does.
  await tab.close();
  await laptop.makeList("Of the laptop");
  await laptop.sync();
  await shows(other, "Attic,Of the laptop,School");
  const third = await openPage(browser);
  assert.deepEqual(await third.run(() => opened.engine.signOut({ erases: true }).catch(({ message }) => message)), undefined);
  await shows(other, "");
  assert.deepEqual(await other.run(files), ["shop", "shop/folder"]);
  await other.run(() => new Promise((resolve) => {
    opened.engine.onStatus(({ needsSignIn }) => { if (needsSignIn.join() === "home") resolve(); });
  }));
});

test("a page that ends in a sign-out leaves its mark, and the next one goes on with it; home was a store before (I3, I10)", async (t) => {
  const browser = await openBrowser(t);
  const before = await browser.open(origin);
  await before.run(async (server, schema) => {
    const { openBrowserStore } = await import("/client/index.js");
    const { store } = await openBrowserStore({ name: "shop", schema, server });
    await store.write((db) => db.insert("lists", { title: "Of the store" }));
  }, (await servers)[0].address, schema);
  await before.close();
  const { tab } = await signUpPage(browser);
  assert.deepEqual(await tab.run(() => opened.folder.all("lists").map(({ title }) => title)), ["Of the store"]);
  await tab.run(() => opened.folder.store("school").write((db) => db.insert("lists", { title: "Work" })));
  // As if it ended behind the mark.
  await tab.run(() => new Promise((resolve) => {
    opened.folder.finish = () => new Promise(resolve);
    opened.engine.signOut({ erases: true, force: true });
  }));
  assert.deepEqual(await tab.run(files), ["shop", "shop/folder", "shop/school"]);
  await tab.close();
  const next = await openPage(browser);
  assert.deepEqual(await next.run(() => [opened.folder.databases.length, opened.folder.all("lists").length, opened.folder.home.account.user]), [1, 0, null]);
  assert.deepEqual(await next.run(files), ["shop", "shop/folder"]);
});
