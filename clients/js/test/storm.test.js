// Random edits of several devices, over a network that loses requests and answers, of a server that is killed.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { FetchTransport } from "../index.js";
import { Device } from "./devices.js";
import { SeededRandom } from "./random.js";
import { folder, run, Server } from "./server.js";

/** Loses one in six requests, and one in six answers. */
class BadTransport {
  constructor(server, random) {
    this.transport = new FetchTransport(server.address);
    this.random = random;
    this.isGood = false;
  }

  async request(request) {
    const fate = this.isGood ? 5 : this.random.below(6);
    if (fate === 0) throw new Error("The request was lost.");
    const answer = await this.transport.request(request);
    if (fate === 1) throw new Error("The answer was lost.");
    return answer;
  }
}

const words = ["milk", "rye", "bread", "tea", "red", "small", "caf\u00e9", "\u8cb7\u3044"];

function edit(db, random) {
  const items = db.all("items");
  const lists = db.all("lists");
  const item = items.length > 0 ? random.of(items) : null;
  const text = () => Array.from({ length: 1 + random.below(4) }, () => random.of(words)).join(" ");
  switch (item ? random.below(12) : 0) {
    case 0: {
      const list = lists.length > 0 && random.below(5) > 0 ? random.of(lists).id : db.insert("lists", { title: text() });
      const place = random.of(["first", "last"]);
      const [position] = db.positions("items", 1, place, { parent: list });
      return db.insert("items", { list_id: list, title: text(), note: random.below(2) ? text() : null, position });
    }
    case 1: return db.update("items", item.id, { title: text() });
    case 2: return db.update("items", item.id, { done: !item.done, note: text() });
    case 3: return db.increment("items", item.id, "amount", random.below(3));
    case 4: return db.update("items", item.id, { tags: [...new Set([...(item.tags ?? []).slice(random.below(2)), random.of(words)])] });
    case 5: return db.move("items", [item.id], random.of(["first", "last"]));
    // To another list, which is another zone.
    case 6: return db.move("items", [item.id], "last", { parent: random.of(lists).id });
    case 7: return db.delete("items", item.id);
    case 8: return random.below(4) === 0 ? db.delete("lists", random.of(lists).id) : db.update("lists", random.of(lists).id, { title: text() });
    case 9: {
      const words = (item.note ?? "").split(" ");
      words.splice(random.below(words.length), random.below(2), random.of(["new", "old", "fresh"]));
      return db.update("items", item.id, { note: words.join(" ") });
    }
    case 10: {
      const open = db.all("conflicts").filter(({ resolution }) => resolution === null);
      if (open.length === 0) return null;
      const { id, record_table: table, record_id: record } = random.of(open);
      return db.get(table, record) ? db.resolve(id, random.of(["winner", "loser"])) : null;
    }
    default: return db.update("items", item.id, { done: true });
  }
}

async function step(device, random) {
  try {
    switch (random.below(8)) {
      case 0: case 1: return await device.sync();
      case 2: return random.below(3) === 0 ? await device.store.undo() : await device.write((db) => edit(db, random));
      case 3: {
        const [set] = device.store.quarantined().filter(({ because }) => because === null);
        if (!set) return null;
        return random.below(2) ? await device.store.resend(set.number) : await device.store.discard(set.number);
      }
      default: return await device.write((db) => edit(db, random));
    }
  } catch (error) {
    if (error.code || error instanceof RangeError) return null;
    throw error;
  }
}

/** References and zones of what a device shows hold together (I9). */
function expectSound(device) {
  const lists = new Set(device.store.all("lists").map(({ id }) => id));
  for (const item of device.store.all("items")) {
    assert.ok(lists.has(item.list_id), `the item ${item.id} has no list`);
    assert.equal(item.zone, item.list_id);
  }
}

for (const seed of (process.env.SEEDS ?? "1,2,3").split(",").map(Number)) {
  // Each third server loses what came after a backup.
  const isRestored = seed % 3 === 0;
  test(`random edits of four devices converge${isRestored ? ", also after a restore" : ""}: seed ${seed} (I1, I3, I6, I7, I9)`, async (t) => {
    const server = await Server.start(t);
    const random = new SeededRandom(seed);
    const backup = join(folder(t), "backup");
    const devices = [];
    const open = async (name, isNew) => {
      const device = await Device[isNew ? "signUp" : "signIn"](name, { server });
      device.engine.transport = new BadTransport(server, random);
      devices.push(device);
      return device;
    };
    const ada = await open("ada", true);
    await open("ada", false);
    const bob = await open("bob", true);
    await open("bob", false);
    for (let round = 0; round < 250; round++) {
      const device = random.of(devices);
      await step(device, random);
      expectSound(device);
      // Ada shares a list with Bob, who has met her by then.
      if (round % 40 === 10) {
        const lists = ada.store.all("lists");
        if (lists.length > 0) await ada.write((db) => db.insert("members", { zone: random.of(lists).id, name: "bob", role: random.of(["editor", "viewer"]) })).catch(() => {});
      }
      if (round % 40 === 30) {
        const { memberships } = await bob.engine.request("GET", "v1/memberships").catch(() => ({ memberships: [] }));
        for (const { id } of memberships) await bob.engine.request("POST", `v1/memberships/${id}/accept`).catch(() => {});
      }
      if (isRestored && round === 120) run("backup", "--data", server.data, backup);
      if (round % 100 === 99) {
        await server.kill();
        if (isRestored && round === 199) run("restore", "--replace", "--data", server.data, backup);
        await server.start();
      }
    }
    for (const device of devices) device.engine.transport.isGood = true;
    for (let turn = 0; turn < 6; turn++) for (const device of devices) await device.sync();
    for (const [name, own] of [["ada", devices.slice(0, 2)], ["bob", devices.slice(2)]]) {
      const truth = await Device.signIn(name, { server });
      await truth.sync();
      for (const device of own) {
        expectSound(device);
        assert.equal(device.store.waitingOperations, 0);
        assert.equal([...device.store.reader().draft.entries("dirty")].length, 0);
        assert.deepEqual(device.contents(), truth.contents());
      }
    }
  });
}
