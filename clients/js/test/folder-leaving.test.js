// Databases that leave a folder: sign-outs, removals, kills between.

import assert from "node:assert/strict";
import { test } from "node:test";
import { FetchTransport, FolderEngine, Store } from "../index.js";
import { insertItem, insertList, makeDisk, openFolder, schema, servers, start, states, titles, unreadable } from "./folders.js";
import { password } from "./server.js";

test("a sign-out ends all sessions and leaves the data; with removal it is refused while something is unsent, and changes nothing (I3)", async (t) => {
  const { disk, folder, engine, name, school } = await start(t);
  await school.write(insertList("Work"));
  const signedIn = () => folder.stores().map(([, { account }]) => account.isSignedIn);
  await assert.rejects(engine.signOut({ erases: true }), RangeError);
  assert.deepEqual([signedIn(), titles(folder), states(folder).length], [[true, true], ["Work"], 2]);
  await engine.signOut();
  assert.deepEqual([signedIn(), titles(folder), engine.status.needsSignIn], [[false, false], ["Work"], ["home", "school"]]);
  for (const database of ["home", "school"]) await engine.engine(database).signIn(name, password);
  const { devices } = await engine.engine("school").request("GET", "v1/devices");
  assert.deepEqual(devices.map(({ has_session: isLive }) => isLive), [true]);
  await assert.rejects(engine.remove("home"), RangeError);
  await assert.rejects(engine.remove("club"), RangeError);
  await assert.rejects(engine.remove("school"), RangeError);
  const token = engine.engine("school").device;
  await engine.signOut({ erases: true, force: true });
  assert.deepEqual([states(folder), titles(folder), folder.home.account.user], [[["home", "open"]], [], null]);
  assert.deepEqual([disk.files.get("school").entries.size, engine.engine("school")], [0, undefined]);
  await assert.rejects(school.write(insertList("Late")), { name: "StoreError", code: "database-closed" });
  const answer = await new FetchTransport((await servers)[1].address).request({ method: "GET", path: "v1/devices", session: token });
  assert.equal(answer.status, 401);
  // A later one of the name is another.
  await folder.add("school");
  assert.deepEqual([...disk.files.keys()], ["home", "folder", "school", "school 1"]);
  assert.deepEqual(titles(folder), []);
});

/** A folder of a page that is killed behind a mark: nothing comes to its disk any more. */
async function killAfterMark(folder, names, options) {
  const { storage } = folder.list;
  const isKilled = new Promise((resolve) => {
    const { commit } = storage;
    storage.commit = async (...words) => {
      await commit.apply(storage, words);
      resolve();
      return new Promise(() => {});
    };
  });
  folder.close = async () => {};
  folder.leave(names, options);
  await isKilled;
}

test("after a kill in a sign-out the next start goes on with it, and so does another tab (I10)", async (t) => {
  for (const isTab of [false, true]) {
    const { disk, folder, school } = await start(t);
    await school.write(insertList("Work"));
    const tab = isTab && await openFolder(t, disk);
    // The other tab has not read that.
    await school.write(insertList("Club"));
    await folder.write(insertList("Attic"));
    await killAfterMark(folder, ["home", "school"], { erases: true, force: true });
    if (isTab) await tab.follow();
    const next = tab || await openFolder(t, disk);
    assert.deepEqual([states(next), titles(next), next.home.account.user], [[["home", "open"]], [], null]);
    assert.equal(disk.files.get("school").entries.size, 0);
  }
});

test("a mark takes neither edits nor a session that came after it (I3)", async (t) => {
  for (const happens of ["an edit", "a session"]) {
    const { disk, folder, engine, name, school } = await start(t);
    const work = await school.write(insertList("Work"));
    await killAfterMark(folder, ["home", "school"], { erases: true, force: true });
    if (happens === "an edit") await school.write(insertItem(work, "Since"));
    else await engine.engine("school").signIn(name, password);
    const next = await openFolder(t, disk);
    assert.deepEqual(states(next), [["home", "open"], ["school", "open"]]);
    assert.deepEqual([next.store("school").account.isSignedIn, next.home.account.isSignedIn], [true, false]);
    assert.deepEqual([titles(next), next.all("items").length], [["Work"], happens === "an edit" ? 1 : 0]);
    assert.deepEqual(next.list.rows().map(({ leaving }) => leaving), [null, null]);
  }
  const { disk, folder, engine, name } = await start(t);
  await killAfterMark(folder, ["home", "school"], {});
  await engine.engine("home").signIn(name, password);
  const next = await openFolder(t, disk);
  assert.deepEqual(next.stores().map(([, { account }]) => account.isSignedIn), [true, false]);
});

test("what another tab finds unsent when it does a mark, the tab that has made it is told (I3)", async (t) => {
  const { disk, folder, school } = await start(t);
  const tab = await openFolder(t, disk);
  const { mark } = folder.list;
  folder.list.mark = async (...words) => {
    const numbers = await mark.apply(folder.list, words);
    await tab.store("school").write(insertList("Typed"));
    await tab.follow();
    return numbers;
  };
  const failures = await folder.leave(["school"], { erases: true });
  assert.match(failures.get("school").message, /1 edits are not on the server/);
  assert.deepEqual([states(folder), school.account.isSignedIn], [[["home", "open"], ["school", "open"]], true]);
});

test("a database that another tab removes can't be written, and is gone in this one (I2, I3)", async (t) => {
  const { disk, folder, school } = await start(t);
  const tab = await openFolder(t, disk);
  await tab.leave(["school"], { erases: true });
  await assert.rejects(folder.store("school").write(insertList("Late")), { name: "StoreError" });
  await assert.rejects(school.write(insertList("Later")), { name: "StoreError" });
  await folder.write("a zone", insertList("Here"));
  assert.deepEqual([states(folder), titles(folder)], [[["home", "open"]], ["Here"]]);
  // While it leaves, one of its name waits, and is another.
  await folder.add("school");
  await killAfterMark(tab, ["school"], { erases: true });
  await folder.add("school");
  await folder.store("school").write(insertList("New"));
  assert.deepEqual([titles(folder), folder.list.rows().map(({ file }) => file)], [["Here", "New"], ["home", "school 2"]]);
});

test("between the removal of its data and its own nobody can write into a database (I2, I3)", async (t) => {
  const form = JSON.parse(schema);
  form.tables.notes = { zone: "user", columns: { text: { type: "text" } } };
  const [disk, options] = [makeDisk(), { schema: JSON.stringify(form) }];
  const folder = await openFolder(t, disk, options);
  await folder.add("school");
  const store = folder.store("school");
  // A suspended tab keeps it.
  disk.files.get("school").remove = async () => {};
  const tab = await openFolder(t, disk, options);
  await tab.leave(["school"], { erases: true });
  assert.deepEqual(states(tab), [["home", "open"]]);
  await assert.rejects(Store.open({ storage: disk.storage("school"), ...options }), { name: "StoreError", code: "database-closed" });
  // It has no user, and no zone yet.
  await assert.rejects(store.write((db) => db.insert("notes", { text: "Typed" })), { name: "StoreError", code: "database-closed" });
});

test("what can't be opened leaves with force alone, and not by an old mark; what a newer app has stays (I3, I12)", async (t) => {
  const { disk, folder } = await start(t);
  await folder.close();
  disk.broken.set("school", unreadable);
  const broken = await openFolder(t, disk);
  const engine = new FolderEngine({ folder: broken, server: (await servers)[0].address, streams: false });
  await assert.rejects(engine.remove("school"), unreadable);
  await assert.rejects(engine.signOut({ erases: true }), unreadable);
  assert.equal(broken.home.account.isSignedIn, true);
  await killAfterMark(broken, ["school"], { erases: true, force: true });
  const next = await openFolder(t, disk);
  assert.deepEqual(states(next)[1], ["school", "failed"]);
  assert.notEqual(disk.files.get("school").entries.size, 0);
  await new FolderEngine({ folder: next, streams: false }).remove("school", { force: true });
  assert.deepEqual([states(next), disk.files.get("school").entries.size], [[["home", "open"]], 0]);

  const newer = JSON.stringify({ ...JSON.parse(schema), version: 2 });
  const { disk: other, folder: older } = await start(t);
  await older.close();
  await Store.open({ storage: other.storage("school"), schema: newer });
  const old = await openFolder(t, other);
  assert.equal(old.databases[1].error.code, "database-is-newer");
  await assert.rejects(new FolderEngine({ folder: old, streams: false }).remove("school", { force: true }), { code: "database-is-newer" });
  assert.notEqual(other.files.get("school").entries.size, 0);
  // Nor does the older app take the mark of the newer one back.
  await killAfterMark(await openFolder(t, other, { schema: newer }), ["school"], { erases: true, force: true });
  await old.follow();
  assert.deepEqual(states(await openFolder(t, other, { schema: newer })), [["home", "open"]]);
});
