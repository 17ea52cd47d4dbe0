// Zones that wait for a restored server to know whose they are. docs/RESTORING.md, section 7.

import assert from "node:assert/strict";
import { test } from "node:test";
import { falsify } from "./devices.js";
import { listsForm, restorable, share } from "./restores.js";
import { run } from "./server.js";

const day = 86_400_000;
const stamp = (milliseconds) => milliseconds.toString(16).padStart(12, "0") + "0000";

/** Ada's list, of which bob is a member. @param backsUp what the backup has: nothing of the list, or all but bob's membership. */
async function open(t, { role = "editor", backsUp = "nothing", items = 1 }) {
  const all = await restorable(t, listsForm());
  const [ada, bob] = [await all.signUp("ada"), await all.signUp("bob")];
  if (backsUp === "nothing") all.backUp();
  const list = await ada.write((db) => {
    const list = db.insert("lists", { title: "Here" });
    db.insert("items", { list, title: "Tent" });
    return list;
  });
  await ada.sync();
  if (backsUp === "list") all.backUp();
  await share(ada, list, "bob", role, bob);
  if (role === "editor") await bob.write((db) => { for (let count = 0; count < items; count++) db.insert("items", { list, title: `Bob's ${count}` }); });
  await bob.sync();
  await bob.sync();
  await all.restore();
  await bob.sync();
  return { ...all, ada, bob, list };
}

const problemsOf = ({ store }) => store.quarantined().map(({ problem }) => problem.code);
const countOf = ({ store }) => store.all("items").length;

test("what a user could write is in quarantine when nobody recovers the zone, and makes it again (I2, I3)", async (t) => {
  const { server, bob, list, fresh } = await open(t, { items: 600 });
  // It stays as it is while it waits.
  await bob.sync();
  assert.deepEqual([countOf(bob), problemsOf(bob)], [601, []]);
  run("restore", "--refuse", list, "bob", "--data", server.data);
  await bob.sync();
  assert.deepEqual([countOf(bob), bob.store.zones().some(({ zone }) => zone === list)], [0, false]);
  assert.deepEqual(bob.store.quarantined().map(({ problem, operations }) => [problem.code, operations.length]), [["zone-not-recovered", 500], ["zone-not-recovered", 102]]);
  for (const { number } of bob.store.quarantined()) await bob.store.resend(number);
  await bob.sync();
  assert.deepEqual(problemsOf(bob), []);
  assert.deepEqual([countOf(bob), countOf(await fresh("bob"))], [601, 601]);
});

test("a user who is no member of a recovered zone keeps what nobody else has of it in quarantine (I3, I10)", async (t) => {
  const { ada, bob, list } = await open(t, {});
  // Ada's device has not heard of bob's item.
  await ada.sync();
  const { id } = ada.store.all("members").find(({ zone, name }) => zone === list && name === "bob");
  await ada.write((db) => db.delete("members", id));
  await ada.sync();
  await bob.sync();
  assert.deepEqual([countOf(bob), problemsOf(bob)], [0, ["zone-not-recovered"]]);
  const [{ operations }] = bob.store.quarantined();
  assert.ok(operations.some(({ columns }) => columns.title === "Bob's 0"));
});

for (const role of ["viewer", "editor"]) {
  test(`a zone that lacks the membership leaves the device of ${role === "viewer" ? "a viewer" : "an editor"} after a day (I3, I10)`, async (t) => {
    const { bob, list } = await open(t, { role, backsUp: "list" });
    const after = async (time) => {
      const falsified = falsify(bob, (form) => { form.clock = stamp(Date.now() + time); });
      await bob.sync();
      falsified.stop();
    };
    await after(day - 3_600_000);
    assert.ok(bob.store.get("lists", list));
    await after(day + 60_000);
    assert.equal(bob.store.get("lists", list), undefined);
    assert.deepEqual(problemsOf(bob), role === "viewer" ? [] : ["zone-not-recovered"]);
  });
}
