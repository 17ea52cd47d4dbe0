// A folder of stores: several databases on one device, each with its own server and account.

import assert from "node:assert/strict";
import { test } from "node:test";
import { FetchTransport, FolderEngine } from "../index.js";
import { systemEnvironment } from "../src/store.js";
import { closed } from "../src/store-error.js";
import { Device } from "./devices.js";
import { insertItem, insertList, openFolder, servers, start, states, titles, unreadable, until } from "./folders.js";
import { atEnd, password } from "./server.js";

test("is read as one and written in the database that has the zone, else at home; each syncs with its own server (I7, I10)", async (t) => {
  const { disk, folder, engine, name, school } = await start(t);
  const work = await school.write(insertList("Work"));
  const attic = await folder.write(insertList("Attic"));
  const item = await folder.write(work, insertItem(work, "Report"));
  await folder.write("no zone of anybody", insertList("Garden"));
  assert.deepEqual(titles(folder), ["Attic", "Garden", "Work"]);
  assert.equal(folder.get("items", item).title, "Report");
  assert.deepEqual(folder.reader().list("items", work).map(({ title }) => title), ["Report"]);
  assert.deepEqual(folder.reader().unsent("items", item).includes("title"), true);
  assert.deepEqual([school.waitingOperations, folder.home.waitingOperations, folder.waitingOperations], [2, 2, 4]);
  assert.deepEqual([await folder.databasesWith(work), await folder.databasesWith(attic), await folder.databasesWith("x")], [["school"], ["home"], []]);
  assert.equal(await engine.engineWith(work), engine.engine("school"));
  assert.equal(await engine.engineWith("x"), undefined);
  assert.deepEqual(await folder.databasesWith(school.account.user), ["school"]);
  // A reference to a record of another database breaks a rule, and nothing is written.
  await assert.rejects(folder.write((db) => insertItem(work, "Lost")(db)), { name: "WriteError" });
  assert.deepEqual(await engine.sync(), { failures: [] });
  assert.equal(folder.waitingOperations, 0);
  for (const [server, expected] of [[(await servers)[0], ["Attic", "Garden"]], [(await servers)[1], ["Work"]]]) {
    const laptop = await Device.signIn(name, { server });
    await laptop.sync();
    assert.deepEqual(titles(laptop.store), expected);
  }
  assert.deepEqual(folder.zones().filter(({ zone }) => zone === work), [{ database: "school", zone: work, role: "owner", isWhole: true }]);
  const again = await openFolder(t, disk);
  assert.deepEqual([titles(again), states(again)], [["Attic", "Garden", "Work"], [["home", "open"], ["school", "open"]]]);
});

test("a zone of one id in two databases is two zones, and no edit of it is guessed (I10)", async (t) => {
  const { folder, school } = await start(t);
  const mine = await folder.write(insertList("Mine"));
  await school.write(insertList("Theirs", { id: mine }));
  assert.deepEqual(titles(folder), ["Mine", "Theirs"]);
  assert.equal(folder.get("lists", mine).title, "Mine");
  await assert.rejects(folder.write(mine, (db) => db.delete("lists", mine)), { name: "StoreError", code: "zone-ambiguous" });
  await folder.home.write((db) => db.update("lists", mine, { title: "Still mine" }));
  assert.deepEqual(titles(folder), ["Still mine", "Theirs"]);
});

test("while a database can't be read, its zones are refused and others are written; it comes back by itself (I3, I10, I12)", async (t) => {
  const { disk, folder, engine, name, school } = await start(t);
  const [own, work] = [await folder.write(insertList("Own")), await school.write(insertList("Work"))];
  await engine.sync();
  // One that came by a sync, and one that went.
  const laptop = await Device.signIn(name, { server: (await servers)[1] });
  const late = await laptop.makeList("Late");
  await laptop.sync();
  await engine.sync();
  await folder.close();

  disk.broken.set("school", unreadable);
  const broken = await openFolder(t, disk);
  assert.deepEqual(states(broken), [["home", "open"], ["school", "failed"]]);
  assert.equal(broken.databases[1].error, unreadable);
  assert.deepEqual(titles(broken), ["Own"]);
  await broken.write(own, insertItem(own, "Milk"));
  // The only zone of this id that can be read is another group's.
  await broken.add("club");
  for (const zone of [work, late]) {
    await broken.store("club").write(insertList("A trap", { id: zone }));
    await assert.rejects(broken.write(zone, insertItem(zone, "Secret")), { name: "StoreError", code: "cannot-open", message: /school/ });
  }
  assert.equal(broken.all("items").length, 1);
  await broken.write("a new one", insertList("New"));
  assert.equal(broken.home.all("lists").length, 2);

  const timers = [];
  const mending = new FolderEngine({
    folder: broken, server: "http://127.0.0.1:1", streams: false,
    timers: { setTimeout: (body, after) => timers.push({ body, after }), clearTimeout: () => {} },
  });
  mending.start();
  atEnd(t, () => mending.stop());
  assert.deepEqual(mending.status.failed, ["school"]);
  assert.equal((await mending.sync()).failures.find(({ database }) => database === "school").error, unreadable);
  disk.broken.delete("school");
  await timers.find(({ after }) => after === 60_000).body();
  assert.deepEqual([states(broken)[1], mending.status.failed], [["school", "open"], []]);
  await assert.rejects(broken.write(work, insertItem(work, "Secret")), { code: "zone-ambiguous" });
});

test("without a list that names its zones, a database that can't be read may have any (I10)", async (t) => {
  const { disk, folder } = await start(t);
  const own = await folder.write(insertList("Own"));
  await folder.list.transact((draft) => draft.put("databases", "school", { ...draft.get("databases", "school"), hasZones: false }));
  await folder.close();
  disk.broken.set("school", unreadable);
  const broken = await openFolder(t, disk);
  await assert.rejects(broken.write(own, insertItem(own, "Milk")), { code: "cannot-open" });
  await broken.home.write(insertItem(own, "Milk"));
});

test("a zone is in the list before it is in its database, and is forgotten when it is gone (I10, I11)", async (t) => {
  const { disk, folder, school } = await start(t);
  const noted = () => [...disk.files.get("folder").entries.values()].filter(([store]) => store === "zones").map(([, key]) => key.split(" ")[1]);
  const { commit } = school.storage;
  let before;
  school.storage.commit = (...words) => {
    before ??= noted();
    return commit.apply(school.storage, words);
  };
  const work = await school.write(insertList("Work"));
  assert.equal(before.includes(work), true);
  await school.write((db) => db.delete("lists", work));
  const again = await openFolder(t, disk);
  assert.deepEqual(noted(), [again.store("school").account.user]);
  // While it is forgotten, another tab makes it anew.
  const list = await school.write(insertList("Work"));
  await school.write((db) => db.delete("lists", list));
  await again.list.catchUp();
  await again.list.forgetZones("school", async () => {
    await school.write(insertList("Back", { id: list }));
    return [];
  });
  assert.equal(noted().includes(list), true);
  assert.equal(titles(folder).includes("Back"), true);
});

test("live queries hear of each database, also of those that come and go, and of other tabs (I7)", async (t) => {
  const { disk, folder, school } = await start(t);
  const heard = [];
  const end = folder.live(titles, (lists) => heard.push(lists.join()), { tables: ["lists"] });
  const work = await school.write(insertList("Work"));
  await folder.write(insertList("Attic"));
  assert.deepEqual(heard, ["", "Work", "Attic,Work"]);
  await folder.write(work, insertItem(work, "Report"));
  assert.equal(heard.length, 3);
  const tab = await openFolder(t, disk);
  await tab.add("club");
  await tab.store("club").write(insertList("Club"));
  await tab.write(insertList("Zoo"));
  await folder.reload();
  assert.equal(heard.at(-1), "Attic,Club,Work,Zoo");
  await folder.store("club").write(insertList("Yard"));
  assert.equal(heard.at(-1), "Attic,Club,Work,Yard,Zoo");
  await folder.leave(["club"], { erases: true, force: true });
  assert.equal(heard.at(-1), "Attic,Work,Zoo");
  end();
  await school.write(insertList("Later"));
  assert.equal(heard.at(-1), "Attic,Work,Zoo");
});

test("undo reverses the last transaction, in whichever database it is; two at once reverse two (I1)", async (t) => {
  let now = Date.now();
  const { folder, school } = await start(t, { environment: { ...systemEnvironment, now: () => now += 1000 } });
  for (const [store, title] of [[folder.home, "1"], [school, "2"], [folder.home, "3"], [school, "4"], [school, "5"], [folder.home, "6"]]) await store.write(insertList(title));
  assert.deepEqual(await folder.undo(), { changed: 1, kept: 0 });
  assert.deepEqual(titles(folder), ["1", "2", "3", "4", "5"]);
  await Promise.all([folder.undo(), folder.undo()]);
  assert.deepEqual([titles(folder), folder.undoable], [["1", "2", "3"], { undo: true }]);
  // Another tab reverses the last one between the look and the undo.
  const { reverse } = folder.home;
  folder.home.reverse = async (...words) => {
    folder.home.reverse = reverse;
    await folder.home.undo();
    return folder.home.reverse(...words);
  };
  await folder.undo();
  assert.deepEqual(titles(folder), ["1"]);
  await folder.undo();
  assert.deepEqual([await folder.undo(), titles(folder), folder.undoable], [null, [], { undo: false }]);
});

test("refused change sets and conflicts of all databases are dealt with in their own (I3)", async (t) => {
  const { folder, engine, name, school } = await start(t);
  const [home, work] = [await folder.write(insertList("Home")), await school.write(insertList("Work"))];
  const tasks = [];
  for (const [store, list] of [[folder.home, home], [school, work]]) tasks.push(await store.write(insertItem(list, "Task")));
  await engine.sync();
  const laptop = await Device.signIn(name, { server: (await servers)[1] });
  await laptop.sync();
  await laptop.write((db) => db.update("items", tasks[1], { title: "Job" }));
  await laptop.sync();
  await school.write((db) => db.update("items", tasks[1], { title: "Duty" }));
  await engine.sync();
  const [conflict] = folder.all("conflicts");
  assert.deepEqual(await folder.databasesWith(conflict.zone), ["school"]);
  await folder.resolve(conflict.id, "loser");
  assert.equal(folder.get("items", tasks[1]).title, conflict.loser_value);
  await assert.rejects(folder.resolve("none", "loser"), { name: "WriteError" });

  // Each server has deleted what this device edits.
  for (const [index, list] of [home, work].entries()) {
    const other = await Device.signIn(name, { server: (await servers)[index] });
    await other.sync();
    await other.write((db) => db.delete("lists", list));
    await other.sync();
    await [folder.home, school][index].write((db) => db.insert("members", { zone: list, name: "nobody", role: "viewer" }));
  }
  await engine.sync();
  const sets = folder.quarantined();
  assert.deepEqual(sets.map(({ database }) => database).sort(), ["home", "school"]);
  assert.equal(engine.status.quarantined, 2);
  const [first, second] = sets;
  await folder.discard(first);
  await assert.rejects(folder.discard(first), RangeError);
  assert.deepEqual(folder.quarantined(), [second]);
  await folder.resend(second, (operations) => { operations[0].columns.role = "editor"; });
  assert.deepEqual([folder.quarantined(), folder.store(second.database).all("members", { where: { name: "nobody" } })[0].role], [[], "editor"]);
});

test("a server that is lost or silent makes no other database wait, and one status names it (I12)", async (t) => {
  const { folder, name, school } = await start(t);
  const [home] = await servers;
  const transport = ({ name }) => (name === "home" ? new FetchTransport(home.address)
    : name === "school" ? { request: () => new Promise(() => {}), stream: () => new Promise(() => {}) } : null);
  const engine = new FolderEngine({ folder, transport, streams: false });
  atEnd(t, () => engine.stop());
  const statuses = [];
  engine.onStatus((status) => statuses.push(status));
  await school.write(insertList("Work"));
  await folder.write(insertList("Attic"));
  engine.start();
  await until(() => statuses.at(-1).databases[0].sync.state === "idle" && statuses.at(-1).waiting === 1);
  assert.equal(statuses.at(-1).databases[1].sync.state, "syncing");
  const laptop = await Device.signIn(name, { server: home });
  await laptop.sync();
  assert.deepEqual(titles(laptop.store), ["Attic"]);
  await folder.add("club");
  await until(() => statuses.at(-1).databases.length === 3);
  // It has no address yet.
  assert.deepEqual([statuses.at(-1).databases[2].sync, engine.engine("club")], [null, undefined]);
  for (const [index, status] of statuses.entries()) if (index > 0) assert.notDeepEqual(status, statuses[index - 1]);

  await folder.add("club", { server: "http://127.0.0.1:1" });
  const other = new FolderEngine({ folder, server: home.address, streams: false });
  await other.engine("club").signUp("ada", password).catch(() => {});
  const { failures } = await other.sync();
  assert.deepEqual(failures.map(({ database, error }) => [database, error.code]), [["club", "signed-out"]]);
  assert.deepEqual(other.status.needsSignIn, ["club"]);
  assert.equal(folder.waitingOperations, 0);
});

test("one that ends while it is open shows what it had, and another try opens it (I12)", async (t) => {
  const { folder, engine, school } = await start(t);
  const work = await school.write(insertList("Work"));
  const own = await folder.write(insertList("Own"));
  school.storage.onClosed(closed());
  assert.deepEqual([states(folder)[1], titles(folder), engine.status.failed], [["school", "failed"], ["Own", "Work"], ["school"]]);
  await assert.rejects(folder.write(work, insertItem(work, "Report")), { code: "cannot-open" });
  await folder.write(own, insertItem(own, "Milk"));
  assert.deepEqual((await engine.sync()).failures, []);
  assert.deepEqual([states(folder)[1], titles(folder)], [["school", "open"], ["Own", "Work"]]);
  await folder.write(work, insertItem(work, "Report"));
});

test("names that no file or SQL may have are refused, and so is an eleventh database", async (t) => {
  const folder = await openFolder(t);
  for (const name of ["", "Home", "home", "main", "folder", "com1", "a b", "1a", "a".repeat(33), null]) await assert.rejects(folder.add(name), RangeError);
  for (let number = 1; number < 10; number++) await folder.add(`db${number}`);
  await assert.rejects(folder.add("more"), RangeError);
  await assert.rejects(folder.add("db9", { server: "school.example" }), RangeError);
  // Nobody has signed in: no database has it more than another.
  await assert.rejects(folder.write(null, insertList("Lost")), TypeError);
  await assert.rejects(folder.databasesWith(undefined), TypeError);
  await folder.add("db9", { server: "http://127.0.0.1:1" });
  assert.deepEqual([folder.databases.length, folder.databases[9].server], [10, "http://127.0.0.1:1"]);
  await folder.leave(["db1"], { erases: true });
  await folder.add("more");
  assert.equal(folder.databases.at(-1).name, "more");
});
