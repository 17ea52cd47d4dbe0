// A folder of stores whose home has a directory of databases.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { FolderEngine } from "../index.js";
import { systemEnvironment } from "../src/store.js";
import { falsify } from "./devices.js";
import { copyOf, makeDisk, newName, openFolder, servers, titles, until, insertItem, insertList } from "./folders.js";
import { atEnd, jotSchema, password, run, Server } from "./server.js";

const script = fileURLToPath(new URL("../../../Scripts/postgres.sh", import.meta.url));
const base = mkdtempSync(join(tmpdir(), "holdfast-js-"));
// The cluster goes on when the script has ended: it must not have a pipe of this process.
execFileSync(script, ["start", join(base, "postgres")], { stdio: ["ignore", openSync(join(base, "url"), "w"), openSync(join(base, "log"), "w")] });
const directory = readFileSync(join(base, "url"), "utf8").trim();
run("directory", "init", "--directory", directory);

/** A server of the directory, of a name. */
async function startServer(name) {
  const data = join(base, name);
  const server = new Server({ data, schema: jotSchema });
  await server.start();
  await server.kill();
  run("directory", "join", name, "--url", server.address, "--data", data, "--directory", directory);
  server.more = ["--directory", directory];
  await server.start();
  return server;
}
const [a, b] = [await startServer("a"), await startServer("b")];
const move = (zone, from, to) => run("zones", "move", zone, "--from", from.data, "--to", to.data, "--directory", directory);
after(async () => {
  for (const server of [a, b]) await server.kill();
  execFileSync(script, ["stop", join(base, "postgres"), "immediate"], { stdio: "ignore" });
  rmSync(base, { recursive: true, force: true });
});

async function makeEngine(t, server, disk = makeDisk(), options = {}) {
  const folder = await openFolder(t, disk, options);
  const engine = new FolderEngine({ folder, server: server.address, app: "tests", streams: false });
  atEnd(t, () => engine.stop());
  return { folder, engine, disk };
}

/** Ann, whose home is a, is in a list of Bob's, whose home is b. */
async function start(t) {
  const [ann, bob] = [newName(), newName()];
  const hers = await makeEngine(t, a);
  const his = await makeEngine(t, b);
  await hers.engine.signUp(ann, password, "phone");
  await his.engine.signUp(bob, password);
  const list = await his.folder.write(insertList("Ours"));
  assert.deepEqual(await his.engine.sync(), { failures: [] });
  const { token } = await his.engine.engine("home").request("POST", `v1/zones/${list}/invitations`, { role: "editor", expires_in: 3600, uses: 1 });
  const there = await hers.engine.join("b");
  assert.equal((await there.request("POST", "v1/invitations/accept", { token })).zone, list);
  assert.deepEqual(await hers.engine.sync(), { failures: [] });
  return { ...hers, name: ann, list, his };
}

test("follows a link into another database, and a second device finds it by itself (I7, I10)", async (t) => {
  const { folder, engine, name, list } = await start(t);
  assert.deepEqual(titles(folder), ["Ours"]);
  await folder.write(list, insertItem(list, "Milk"));
  assert.deepEqual(await engine.sync(), { failures: [] });
  const laptop = await makeEngine(t, a);
  await laptop.engine.signIn(name, password, "laptop");
  assert.deepEqual(laptop.folder.databases.map(({ name }) => name), ["home", "b"]);
  assert.deepEqual(await laptop.engine.sync(), { failures: [] });
  assert.deepEqual(laptop.folder.all("items").map(({ title }) => title), ["Milk"]);
  await assert.rejects(laptop.engine.join("c"), { name: "RangeError" });
});

test("a session that has ended begins again with a pass; one that is good takes none (I3)", async (t) => {
  const { folder, engine, disk, list } = await start(t);
  const session = () => folder.store("b").reader().draft.device.session;
  const before = session();
  await engine.engine("b").signOut();
  assert.deepEqual(engine.status.needsSignIn, []);
  await folder.write(list, insertItem(list, "Milk"));
  assert.deepEqual(await engine.sync(), { failures: [] });
  assert.equal(folder.waitingOperations, 0);
  assert.equal(session(), before + 1);
  const again = await makeEngine(t, a, disk);
  await again.engine.findDatabases();
  assert.equal(session(), before + 1);
});

test("a home that is lost keeps no other database from syncing (I12)", async (t) => {
  const { folder, engine, list } = await start(t);
  await folder.write(list, insertItem(list, "Milk"));
  await a.kill();
  const { failures } = await engine.sync();
  assert.deepEqual(failures.map(({ database }) => database), ["home"]);
  assert.equal(folder.store("b").waitingOperations, 0);
  await a.start();
  assert.deepEqual(await engine.sync(), { failures: [] });
});

test("a database with another user's data is left alone (I10)", async (t) => {
  const { name } = await start(t);
  const tablet = await makeEngine(t, a);
  await tablet.folder.add("b", { server: b.address });
  const carl = newName();
  await tablet.engine.engine("b").signUp(carl, password);
  await tablet.engine.signIn(name, password);
  await assert.rejects(tablet.engine.findDatabases(), { name: "RangeError" });
  assert.equal(tablet.folder.store("b").account.name, carl);
});

test("a zone that moves home is found there, with what was written meanwhile, once (I1, I3, I7)", async (t) => {
  const { folder, engine, name, list, his } = await start(t);
  const [milk, eggs] = [await folder.write(list, insertItem(list, "Milk")), await folder.write(list, insertItem(list, "Eggs"))];
  await engine.sync();
  await his.engine.sync();
  await folder.write(list, (db) => db.update("items", milk, { title: "Oat milk" }));
  await folder.write(list, (db) => db.delete("items", eggs));
  await folder.write(list, insertItem(list, "Tea"));
  // Both titles are kept: that of the column asks a person.
  await his.folder.write((db) => db.update("items", milk, { title: "Soy milk" }));
  await his.engine.sync();
  move(list, b, a);
  for (let round = 0; round < 3; round += 1) assert.deepEqual(await engine.sync(), { failures: [] });
  assert.deepEqual([titles(folder), folder.quarantined(), await folder.databasesWith(list)], [["Ours"], [], ["home"]]);
  const laptop = await makeEngine(t, a);
  await laptop.engine.signIn(name, password, "laptop");
  await laptop.engine.sync();
  assert.deepEqual(laptop.folder.all("items").map(({ title }) => title).sort(), ["Soy milk", "Tea"]);
  assert.deepEqual(laptop.folder.all("conflicts").map(({ policy, loser_value: value }) => [policy, value]), [["ask", "Oat milk"]]);
});

test("what is found in quarantine again is written once, and waits for its zone (I1, I3)", async (t) => {
  const { folder, engine, list } = await start(t);
  await folder.write(list, insertItem(list, "Milk"));
  move(list, b, a);
  await engine.engine("b").sync();
  const [set] = folder.store("b").movedSets();
  assert.equal(await folder.home.takeMoved(set), false);
  await engine.engine("home").sync();
  assert.deepEqual([await folder.home.takeMoved(set), await folder.home.takeMoved(set)], [true, true]);
  assert.equal(folder.home.waitingOperations, 1);
  // As after a crash in front of the end.
  assert.deepEqual([await engine.sync(), folder.quarantined()], [{ failures: [] }, []]);
  assert.deepEqual(folder.all("items").map(({ title }) => title), ["Milk"]);
});

// What was refused, as its zone has moved.

const items = (folder) => folder.all("items").map(({ title }) => title).sort();

/** Ann's phone, whose home is a, with a list of some items. */
async function startAlone(t, ...titles) {
  const name = newName();
  const phone = await makeEngine(t, a, makeDisk(), { environment: { ...systemEnvironment, now: () => Date.now() - 60_000 } });
  await phone.engine.signUp(name, password, "phone");
  const list = await phone.folder.write(insertList("Food"));
  const ids = [];
  for (const title of titles) ids.push(await phone.folder.write(insertItem(list, title)));
  for (let round = 0; round < 2; round += 1) assert.deepEqual(await phone.engine.sync(), { failures: [] });
  return { ...phone, name, list, ids };
}

/** What is in the list at last: here, and on another device. */
async function expectItems(t, { folder, engine, name }, expected) {
  for (let round = 0; round < 2; round += 1) assert.deepEqual(await engine.sync(), { failures: [] });
  assert.deepEqual([items(folder), folder.quarantined(), folder.waitingOperations], [expected, [], 0]);
  const laptop = await makeEngine(t, a);
  await laptop.engine.signIn(name, password, "laptop");
  await laptop.engine.sync();
  assert.deepEqual(items(laptop.folder), expected);
}

test("edits of a zone that has moved and was dropped are carried over, whatever is said of them (I3)", async (t) => {
  const ann = await startAlone(t, "Milk", "Eggs");
  const { folder, list, ids: [milk, eggs] } = ann;
  await folder.write((db) => db.update("items", milk, { title: "Oat milk" }));
  await folder.write(insertItem(list, "Tea"));
  await folder.write((db) => db.delete("items", eggs));
  await folder.write((db) => db.update("lists", list, { title: "Groceries" }));
  move(list, a, b);
  run("zones", "drop", list, "--data", a.data);
  await expectItems(t, ann, ["Oat milk", "Tea"]);
  assert.deepEqual([titles(folder), await folder.databasesWith(list)], [["Groceries"], ["b"]]);
});

test("edits that are refused long after their zone has gone are carried over, also after a crash (I3)", async (t) => {
  const ann = await startAlone(t, "Eggs");
  const { folder, engine, disk, name, list, ids: [eggs] } = ann;
  const tea = await folder.write(insertItem(list, "Tea"));
  await folder.write((db) => db.update("items", tea, { title: "Green tea" }));
  await folder.write((db) => db.delete("items", eggs));
  const other = await folder.write(insertList("Other"));
  move(list, a, b);
  // One change set in each request. The network goes after the first.
  const first = engine.engine("home");
  const { transport } = first;
  let count = 0;
  first.requestSize.limit = 1;
  first.transport = {
    request: async (request) => {
      if (request.path === "v1/sync" && (count += 1) > 1) throw new Error("There is no network.");
      return transport.request(request);
    },
  };
  assert.deepEqual((await engine.sync()).failures.map(({ database }) => database), ["home"]);
  assert.deepEqual([items(folder), folder.quarantined(), folder.home.waitingOperations], [["Eggs", "Tea"], [], 3]);
  engine.stop();
  const again = await makeEngine(t, a, disk);
  // As of a server that knows nothing of the records any more.
  const falsified = falsify({ engine: again.engine.engine("home") }, (answer) => {
    for (const refusal of answer.refused) refusal.problem = { code: "record-unknown", status: 404 };
  });
  await again.engine.sync();
  falsified.stop();
  await expectItems(t, { ...again, name }, ["Green tea"]);
  assert.deepEqual([await again.folder.databasesWith(other), await again.folder.databasesWith(list)], [["home"], ["b"]]);
});

test("a change set about zones of two databases stays for a person, until one database has both (I3, I6)", async (t) => {
  const ann = await startAlone(t, "Milk");
  const { folder, engine, list, ids: [milk] } = ann;
  const other = await folder.write(insertList("Other"));
  const nails = await folder.write(insertItem(other, "Nails"));
  await engine.sync();
  await folder.write((db) => {
    db.delete("items", milk);
    db.delete("items", nails);
  });
  move(list, a, b);
  for (let round = 0; round < 2; round += 1) assert.deepEqual(await engine.sync(), { failures: [] });
  assert.deepEqual([items(folder), folder.quarantined().map(({ problem: { code, zone } }) => [code, zone])], [["Milk", "Nails"], [["zone-moved", list]]]);
  move(other, a, b);
  // This zone is gone here, and not there yet.
  await engine.engine("home").sync();
  assert.deepEqual([[...await engine.directory.carryMoved()], folder.quarantined().length], [[], 1]);
  await expectItems(t, ann, []);
});

test("what was refused is carried to wherever the zone is, back to its first database too (I3)", async (t) => {
  const ann = await startAlone(t, "Milk", "Eggs");
  const { folder, engine, list, ids: [milk, eggs] } = ann;
  await folder.write((db) => db.update("items", milk, { title: "Oat milk" }));
  await folder.write((db) => db.delete("items", eggs));
  move(list, a, b);
  await engine.engine("home").sync();
  assert.deepEqual(folder.quarantined().map(({ problem }) => problem.database), ["b", "b"]);
  move(list, b, a);
  await expectItems(t, ann, ["Oat milk"]);
  assert.deepEqual(await folder.databasesWith(list), ["home"]);
});

/** Ann's phone, whose milk has become more, and a new tea, while the list moved to b: both are in quarantine. */
async function startRefused(t) {
  const ann = await startAlone(t, "Milk");
  const { folder, engine, list, ids: [milk] } = ann;
  await folder.write((db) => db.update("items", milk, { amount: 6 }));
  await folder.write(insertItem(list, "Tea"));
  move(list, a, b);
  await engine.engine("home").sync();
  assert.equal(folder.quarantined().length, 2);
  return { ...ann, amount: ({ folder }) => folder.get("items", milk).amount };
}

test("a device that was copied with refused edits carries them over once with its copy (I1, I7)", async (t) => {
  const ann = await startRefused(t);
  const copy = await makeEngine(t, a, copyOf(ann.disk));
  // It is another device from then on.
  await copy.folder.write(insertList("Hers alone"));
  await ann.folder.write(insertList("His alone"));
  for (let round = 0; round < 3; round += 1) {
    for (const { engine } of [ann, copy]) assert.deepEqual(await engine.sync(), { failures: [] });
  }
  for (const one of [ann, copy]) assert.deepEqual([ann.amount(one), one.folder.quarantined()], [6, []]);
  await expectItems(t, ann, ["Milk", "Tea"]);
});

test("what was carried into a database that was removed and added again takes effect once (I1, I7)", async (t) => {
  const ann = await startRefused(t);
  const { folder, engine } = ann;
  const sets = folder.home.movedSets();
  await engine.findDatabases();
  await engine.engine("b").sync();
  // As after a crash in front of the end.
  for (const set of sets) assert.equal(await folder.store("b").takeMoved(set), true);
  await engine.engine("b").sync();
  await engine.remove("b", { force: true });
  await expectItems(t, ann, ["Milk", "Tea"]);
  assert.equal(ann.amount(ann), 6);
});

test("a deletion in a public zone stays with the database that has it (I3)", async (t) => {
  const { folder, engine, name, list, ids: [milk] } = await startAlone(t, "Milk");
  const spare = await folder.write(insertList("Spare"));
  run("zones", "grant", "catalogue", name, "editor", "--data", a.data);
  await folder.home.follow("catalogue");
  const country = await folder.home.write((db) => db.insert("countries", { code: "XA", code3: "XAA", name: "Nowhere" }));
  await engine.sync();
  // The other database has a catalogue of its own.
  move(spare, a, b);
  await engine.sync();
  await folder.store("b").follow("catalogue");
  await folder.home.write((db) => {
    db.delete("items", milk);
    db.delete("countries", country);
  });
  move(list, a, b);
  for (let round = 0; round < 2; round += 1) assert.deepEqual(await engine.sync(), { failures: [] });
  assert.deepEqual([items(folder), folder.all("countries").length, folder.quarantined().map(({ database }) => database)], [["Milk"], 1, ["home"]]);
});

for (const isMember of [false, true]) {
  test(`what was refused goes to no database of another user, also of ${isMember ? "a member" : "one who has a zone of this name"} (I10)`, async (t) => {
    const { folder, engine, list } = await startAlone(t, "Milk");
    const bob = newName();
    const there = isMember ? b : (await servers)[1];
    if (isMember) {
      const his = (await makeEngine(t, b)).engine;
      await his.signUp(bob, password);
      const { token } = await engine.engine("home").request("POST", `v1/zones/${list}/invitations`, { role: "editor", expires_in: 3600, uses: 1 });
      await (await his.join("a")).request("POST", "v1/invitations/accept", { token });
    }
    await folder.add("b", { server: there.address });
    const other = engine.engine("b");
    await (isMember ? other.signIn(bob, password) : other.signUp(bob, password));
    if (!isMember) await folder.store("b").write(insertList("Bob's", { id: list }));
    await engine.sync();
    await folder.home.write(insertItem(list, "A secret"));
    move(list, a, b);
    for (let round = 0; round < 2; round += 1) await engine.sync();
    assert.equal(folder.store("b").zones().find(({ zone }) => zone === list).isWhole, true);
    assert.deepEqual([items(folder).includes("A secret"), folder.quarantined().map(({ database }) => database)], [false, ["home"]]);
  });
}

test("what was refused goes to no database that home's directory has not named (I10)", async (t) => {
  const { folder, engine, list } = await startAlone(t, "Milk");
  const { pass } = await engine.engine("home").request("POST", "v1/passes", { database: "b" });
  await folder.add("other", { server: b.address });
  await engine.engine("other").signInWithPass(pass, "phone");
  await folder.home.write(insertItem(list, "Tea"));
  move(list, a, b);
  for (const name of ["home", "other"]) await engine.engine(name).sync();
  assert.equal(folder.store("other").zones().find(({ zone }) => zone === list).isWhole, true);
  assert.deepEqual([[...await engine.directory.carryMoved()], folder.quarantined().length], [[], 1]);
});

test("edits that are carried over are as old as they are: newer ones stay, and what is lost is logged (I3, I7)", async (t) => {
  const { folder, engine, name, list, ids: [eggs] } = await startAlone(t, "Eggs");
  const laptop = await makeEngine(t, a);
  await laptop.engine.signIn(name, password, "laptop");
  await laptop.engine.sync();
  // The phone's clock is slow, and it is offline.
  await folder.write((db) => db.update("lists", list, { title: "Older" }));
  await folder.write((db) => db.delete("items", eggs));
  await laptop.folder.write((db) => db.update("lists", list, { title: "Newer" }));
  await laptop.folder.write((db) => db.update("items", eggs, { title: "Brown eggs" }));
  await laptop.engine.sync();
  move(list, a, b);
  for (let round = 0; round < 2; round += 1) for (const one of [engine, laptop.engine]) assert.deepEqual(await one.sync(), { failures: [] });
  for (const one of [folder, laptop.folder]) {
    const lost = one.all("conflicts").map(({ policy, loser_value: value }) => `${policy} ${value}`).filter((text) => /title|Older|Brown/.test(text));
    assert.deepEqual([titles(one), items(one), lost.sort()], [["Newer"], [], ["delete Brown eggs", "latest Older"]]);
  }
});

test("what a deletion takes along when it is carried over is logged if nobody knew of it (I3)", async (t) => {
  const { folder, engine, name, list } = await startAlone(t, "Eggs");
  const laptop = await makeEngine(t, a);
  await laptop.engine.signIn(name, password, "laptop");
  await laptop.engine.sync();
  await folder.write((db) => db.delete("lists", list));
  await laptop.folder.write(insertItem(list, "Jam"));
  await laptop.engine.sync();
  move(list, a, b);
  for (let round = 0; round < 3; round += 1) assert.deepEqual(await engine.sync(), { failures: [] });
  const lost = folder.all("conflicts").filter(({ policy, column_name: column }) => policy === "delete" && column === "title");
  assert.deepEqual([titles(folder), items(folder), lost.map(({ loser_value: value }) => value)], [[], [], ["Jam"]]);
});

test("an engine that runs by itself carries over what was refused when the zone has come (I3)", async (t) => {
  const { folder, engine, list, ids: [milk] } = await startAlone(t, "Milk");
  await folder.write((db) => db.update("items", milk, { title: "Oat milk" }));
  move(list, a, b);
  engine.start();
  const isThere = () => folder.store("b")?.zones().some(({ zone, isWhole }) => zone === list && isWhole);
  await until(() => isThere() && engine.engine("b").status.state === "idle");
  await engine.directory.carrying;
  assert.deepEqual([items(folder), folder.quarantined()], [["Oat milk"], []]);
  await until(() => folder.waitingOperations === 0);
});
