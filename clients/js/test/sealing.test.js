// One device: what the server makes of a change set is what the device shows.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { derivedIdentifier } from "../index.js";
import { Device } from "./devices.js";
import { SeededRandom } from "./random.js";
import { folder, Server } from "./server.js";

const text = { type: "text", required: true };
const reference = (to, onDelete, more = {}) => ({ type: "reference", to, on_delete: onDelete, ...more });
const form = {
  holdfast: 1, name: "sealing", tables: {
    lists: { zone: "root", columns: { title: text } },
    items: {
      zone: { parent: "list" }, columns: {
        list: reference("lists", "cascade", { required: true }), title: text, amount: { type: "integer", required: true, default: 0, merge: "counter" },
        under: reference("items", "cascade"), beside: reference("items", "set_null"), needs: reference("items", "restrict"),
      },
    },
    notes: {
      zone: { parent: "item" }, columns: {
        item: reference("items", "cascade", { required: true }), about: reference("items", "set_null"), needs: reference("lists", "restrict"), title: text,
      },
    },
  },
};
const references = { lists: {}, items: { list: "lists", under: "items", beside: "items", needs: "items" }, notes: { item: "items", about: "items", needs: "lists" } };

async function open(t) {
  const schema = join(folder(t), "sealing.json");
  writeFileSync(schema, JSON.stringify(form));
  const server = await Server.start(t, { schema });
  return { server, schema, device: await Device.signUp("ada", { server, schema }) };
}

/** The records of the app, without what the server counts. */
function contents(device) {
  return Object.fromEntries(Object.keys(references).map((table) => [table, device.store.all(table).map(({ rev, ...record }) => record)]));
}

async function expectUnchanged(device) {
  const before = contents(device);
  await device.sync();
  assert.deepEqual(device.store.quarantined().map(({ problem }) => problem.code), []);
  assert.deepEqual(contents(device), before);
  assert.deepEqual(device.store.all("conflicts"), []);
  assert.equal([...device.store.reader().draft.entries("dirty")].length, 0);
}

/** Two lists with two items each, and a note of the first. */
function fill(device) {
  return device.write((db) => {
    const [A, B] = ["A", "B"].map((title) => db.insert("lists", { title }));
    const [a, b, x, y] = [[A, "a"], [B, "b"], [A, "x"], [B, "y"]].map(([list, title]) => db.insert("items", { list, title }));
    const note = db.insert("notes", { item: a, title: "note" });
    return { A, B, a, b, x, y, note };
  });
}

const forms = {
  "into a record that was deleted and is there again": (db, { A, x, y }) => {
    db.update("items", y, { title: "first" });
    db.update("items", x, { title: "goes" });
    db.delete("lists", A);
    db.insert("lists", { id: A, title: "again" });
    db.update("items", y, { list: A });
  },
  "away from a record that was deleted and is there again, and back": (db, { A, B, a, x }) => {
    for (const id of [a, x]) db.update("items", id, { list: B });
    db.delete("lists", A);
    db.insert("lists", { id: A, title: "A" });
    for (const id of [a, x]) db.update("items", id, { list: A });
  },
  "with a list whose zone it keeps": (db, { A, B, a, x, note }) => {
    db.update("items", a, { list: B });
    db.delete("lists", A);
    db.insert("lists", { id: A, title: "again" });
    db.insert("items", { id: x, list: A, title: "again, too" });
    db.update("notes", note, { item: x });
  },
  "to a list that is created later": (db, { A, x, y }) => {
    const id = derivedIdentifier([A, "new"]);
    db.update("items", y, { list: id });
    db.insert("items", { id: derivedIdentifier([x, "new"]), list: id, title: "new" });
    db.insert("lists", { id, title: "new" });
    db.update("items", x, { list: id });
    db.delete("lists", A);
  },
  "under a record of its own table that was deleted and is there again": (db, { A, a, x }) => {
    db.update("items", x, { under: null });
    db.delete("items", a);
    db.insert("items", { id: a, list: A, title: "again" });
    db.update("items", x, { under: a });
  },
  "beside records that were deleted and are there again": (db, { A, a, x }) => {
    db.update("items", x, { beside: a, under: null });
    db.delete("items", a);
    db.insert("items", { id: a, list: A, title: "again", beside: x, needs: x });
    db.update("items", x, { beside: a, under: a, needs: a });
  },
  "with a record above it that goes to another list": (db, { A, B, a, note }) => {
    db.update("notes", note, { title: "other", item: a });
    db.delete("items", a);
    db.insert("items", { id: a, list: B, title: "again" });
    db.insert("notes", { id: note, item: a, title: "note" });
    db.delete("lists", A);
  },
};

for (const [name, change] of Object.entries(forms)) {
  test(`a record stays where one transaction has moved it: ${name} (I3, I9)`, async (t) => {
    const { device, server, schema } = await open(t);
    const made = await fill(device);
    await device.write((db) => db.update("items", made.x, { under: made.a }));
    await device.sync();
    await device.write((db) => change(db, made));
    await expectUnchanged(device);
    const other = await Device.signIn("ada", { server, schema });
    await other.sync();
    assert.deepEqual(contents(other), contents(device));
  });
}

test("records that refer to each other and to themselves come back by an undo (I3)", async (t) => {
  const { device } = await open(t);
  const { a, x } = await fill(device);
  await device.write((db) => {
    db.update("items", a, { under: x, beside: a });
    db.update("items", x, { under: a, needs: x });
  });
  await device.sync();
  const before = contents(device);
  await device.write((db) => db.delete("items", a));
  await device.sync();
  assert.equal(device.store.get("items", x), undefined);
  await device.store.undo();
  assert.deepEqual(contents(device), before);
  await expectUnchanged(device);
});

test("what still refers to a deleted record refuses the transaction, and what does not any more lets it through (I9)", async (t) => {
  const { device } = await open(t);
  const { A, B, a, x } = await fill(device);
  await device.write((db) => db.update("items", x, { needs: a }));
  const before = contents(device);
  await assert.rejects(device.write((db) => db.delete("items", a)), { code: "reference-restricted" });
  await assert.rejects(device.write((db) => {
    db.update("items", x, { list: B, needs: null });
    db.delete("lists", A);
    db.update("items", x, { list: A });
  }), { code: "reference-missing" });
  assert.deepEqual(contents(device), before);
  await device.write((db) => db.delete("lists", A));
  assert.deepEqual(contents(device).items.map(({ title }) => title).sort(), ["b", "y"]);
  await expectUnchanged(device);
});

// Random transactions.

/** One edit of a transaction. Ids come from a small pool, so that records come back. */
function edit(db, random, ids) {
  const tables = Object.keys(references);
  const table = random.of(["lists", "items", "items", "items", "notes", "notes"]);
  const any = (table) => random.of(db.all(table))?.id ?? ids[table][0];
  const values = () => Object.fromEntries(Object.entries(references[table]).filter(() => random.below(2)).map(([column, target]) => {
    const isRequired = form.tables[table].columns[column].required;
    return [column, !isRequired && random.below(3) === 0 ? null : random.below(4) ? any(target) : random.of(ids[target])];
  }));
  const id = random.of(ids[table]);
  switch (random.below(8)) {
    case 0: case 1: return db.get(table, id) && db.delete(table, id);
    case 2: {
      // A record is deleted and created again, with some of what it took along.
      const before = Object.fromEntries(tables.map((table) => [table, db.all(table)]));
      const goes = random.of(db.all(table));
      if (!goes) return null;
      const [away] = db.all("lists").filter(({ id }) => id !== goes.id);
      const moved = away ? before.items.filter(({ list }) => list === goes.id && random.below(2)) : [];
      for (const item of moved) db.update("items", item.id, { list: away.id });
      db.delete(table, goes.id);
      for (const name of tables) {
        for (const { id, zone: _, rev, ...columns } of before[name]) {
          if (!db.get(name, id) && (id === goes.id || random.below(2))) db.insert(name, { id, ...columns });
        }
      }
      for (const item of moved) if (random.below(2)) db.update("items", item.id, { list: goes.id });
      return null;
    }
    case 3: case 4: case 5: {
      const required = Object.entries(references[table]).filter(([column]) => form.tables[table].columns[column].required);
      const all = { title: `t${random.below(9)}`, ...Object.fromEntries(required.map(([column, target]) => [column, any(target)])), ...values() };
      return db.get(table, id) ? null : db.insert(table, { id, ...all });
    }
    default: {
      const record = random.of(db.all(table));
      return record && db.update(table, record.id, { title: `t${random.below(9)}`, ...values() });
    }
  }
}

/** References inside a zone are of one zone, else the server refuses them. */
function isSound(db) {
  const zoneOf = (table, record) => (table === "lists" ? record.id : table === "items" ? record.list : db.get("items", record.item)?.list);
  return Object.entries(references).every(([table, columns]) => db.all(table).every((record) => Object.entries(columns).every(([column, target]) => {
    const other = record[column] === null ? null : db.get(target, record[column]);
    return record[column] === null || (other && zoneOf(target, other) === zoneOf(table, record));
  })));
}

class Unsound extends Error {}

for (const seed of (process.env.SEEDS ?? "1,2,3,4").split(",").map(Number)) {
  test(`the server makes of random transactions what their device shows: seed ${seed} (I3, I7, I9)`, async (t) => {
    const { device, server, schema } = await open(t);
    const random = new SeededRandom(seed);
    const ids = { lists: [], items: [], notes: [] };
    for (const [table, count] of [["lists", 3], ["items", 8], ["notes", 5]]) {
      for (let number = 0; number < count; number++) ids[table].push(derivedIdentifier([`${seed}`, table, `${number}`]));
    }
    let done = 0;
    for (let round = 0; round < 400; round++) {
      if (random.below(3) === 0) await expectUnchanged(device);
      try {
        if (random.below(10) === 0) await device.store.undo();
        else {
          await device.write((db) => {
            for (let count = random.below(8) + 1; count > 0; count--) edit(db, random, ids);
            if (!isSound(db)) throw new Unsound();
          });
        }
        done += 1;
      } catch (error) {
        if (!error.code && !(error instanceof Unsound)) throw error;
      }
    }
    assert.ok(done > 100, `only ${done} transactions`);
    await expectUnchanged(device);
    const other = await Device.signIn("ada", { server, schema });
    await other.sync();
    assert.deepEqual(contents(other), contents(device));
  });
}

test("a record goes with more below it than a change set has otherwise; others don't (I11)", async (t) => {
  const { device } = await open(t);
  const list = await device.write((db) => db.insert("lists", { title: "long" }));
  for (let part = 0; part < 3; part++) {
    await device.write((db) => {
      for (let number = 0; number < 3500; number++) db.insert("items", { list, title: `${part} ${number}` });
    });
  }
  await device.sync();
  const ids = device.store.all("items").map(({ id }) => id);
  assert.equal(ids.length, 10_500);
  await assert.rejects(device.write((db) => ids.forEach((id) => db.delete("items", id))), /not below others/);
  assert.equal(device.store.all("items").length, 10_500);
  await device.write((db) => db.delete("lists", list));
  assert.equal(device.store.all("items").length, 0);
  const [set] = device.store.reader().draft.sorted("outbox");
  assert.equal(set.last - set.first + 1, 10_501);
  // Its undo would be too large.
  assert.equal(device.store.undoable.undo, false);
});
