// A folder of stores whose home has a directory of databases.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { FolderEngine } from "../index.js";
import { makeDisk, newName, openFolder, titles, insertItem, insertList } from "./folders.js";
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
after(async () => {
  for (const server of [a, b]) await server.kill();
  execFileSync(script, ["stop", join(base, "postgres"), "immediate"], { stdio: "ignore" });
  rmSync(base, { recursive: true, force: true });
});

async function makeEngine(t, server, disk = makeDisk()) {
  const folder = await openFolder(t, disk);
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
  run("zones", "move", list, "--from", join(base, "b"), "--to", join(base, "a"), "--directory", directory);
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
  run("zones", "move", list, "--from", join(base, "b"), "--to", join(base, "a"), "--directory", directory);
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
