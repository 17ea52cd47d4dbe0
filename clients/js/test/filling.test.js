// New columns and a restored server at once. docs/SCHEMA-CHANGES.md, section 3.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Device, expectAgreement, falsify } from "./devices.js";
import { folder, run, Server } from "./server.js";

const form = (more = {}, title = { type: "text" }) => ({
  holdfast: 1, name: "filling", tables: {
    lists: { zone: "root", columns: { title } },
    items: { zone: { parent: "list" }, columns: { list: { type: "reference", to: "lists", required: true, on_delete: "cascade" }, title: { type: "text" }, ...more } },
  },
});

/** A phone with a list, of which a backup was made, and schemas with a column more, and with another limit. */
async function open(t) {
  const files = folder(t);
  const save = (name, form) => {
    writeFileSync(join(files, name), JSON.stringify(form));
    return join(files, name);
  };
  const schema = save("older.json", form());
  const newer = save("newer.json", form({ price: { type: "integer" } }));
  const limited = save("limited.json", form({}, { type: "text", max_length: 50 }));
  const server = await Server.start(t, { schema });
  const phone = await Device.signUp("ada", { server, schema });
  const list = await phone.write((db) => db.insert("lists", { title: "Here" }));
  await phone.sync();
  await phone.sync();
  const backup = join(folder(t), "backup");
  run("backup", "--data", server.data, backup);
  /** Starts the server with another schema. @param change what is done to its data meanwhile. */
  const restart = async (schema, change = () => {}) => {
    await server.kill();
    change();
    server.schema = schema;
    await server.start();
  };
  return {
    server, schema, newer, limited, phone, list, restart,
    restore: (schema) => restart(schema, () => run("restore", "--replace", "--data", server.data, backup)),
    /** The phone with an app of another schema. */
    update: (schema) => Device.open({ server, storage: phone.storage, schema }),
    fresh: async (schema) => {
      const device = await Device.signIn("ada", { server, schema });
      await device.sync();
      return device;
    },
  };
}

const titles = (device, table = "items") => device.store.all(table).map(({ title }) => title).sort();

/** The tokens that a device sends, by the number of the request. */
function acksOf(device) {
  const { transport } = device.engine;
  const acks = [];
  device.engine.transport = {
    request: (request) => {
      if (request.path === "v1/sync") acks.push(JSON.parse(request.body).acks ?? {});
      return transport.request(request);
    },
  };
  return acks;
}

test("records and zones that a restored server has lost are recovered by an app that has a new column (I2)", async (t) => {
  const { newer, phone, list, restore, update, fresh } = await open(t);
  await phone.write((db) => ["Tent", "Peg"].map((title) => db.insert("items", { list, title })));
  await phone.write((db) => db.insert("items", { list: db.insert("lists", { title: "Other" }), title: "Rope" }));
  await phone.sync();
  await phone.sync();
  await restore(newer);
  const updated = await update(newer);
  // What was not sent may build on what was lost.
  const [peg] = updated.store.all("items", { where: { title: "Peg" } });
  await updated.write((db) => db.delete("items", peg.id));
  await updated.write((db) => db.update("items", updated.item("Tent").id, { price: 5 }));
  await updated.sync();
  assert.deepEqual([titles(updated), titles(updated, "lists"), updated.store.quarantined()], [["Rope", "Tent"], ["Here", "Other"], []]);
  await expectAgreement(updated, await fresh(newer));
  assert.equal(updated.item("Tent").price, 5);
});

test("a new column is filled also when the server has begun another history and lost nothing (I7)", async (t) => {
  const { server, newer, phone, list, restart, update, fresh } = await open(t);
  const tent = await phone.write((db) => db.insert("items", { list, title: "Tent" }));
  await phone.sync();
  await phone.sync();
  await restart(newer);
  const laptop = await fresh(newer);
  await laptop.write((db) => db.update("items", tent, { price: 5 }));
  await laptop.sync();
  // It comes to an app that can't keep it.
  await phone.sync();
  await restart(newer, () => run("restore", "--begin-epoch", "--data", server.data));
  const updated = await update(newer);
  const answers = falsify(updated, () => {});
  await updated.sync();
  assert.ok(answers.count < 10, `${answers.count} requests`);
  assert.deepEqual([updated.store.get("items", tent).price, updated.store.quarantined()], [5, []]);
  assert.ok(updated.store.zones().every(({ isWhole }) => isWhole));
  await expectAgreement(updated, laptop);
});

test("an app whose schema has other limits only fetches no zone again", async (t) => {
  const { newer, limited, restart, update, list } = await open(t);
  await restart(limited);
  const updated = await update(limited);
  const acks = acksOf(updated);
  await updated.sync();
  assert.ok(acks.every((acks) => !Object.values(acks).includes("")), JSON.stringify(acks));
  await restart(newer);
  const again = await update(newer);
  const more = acksOf(again);
  await again.sync();
  assert.equal(more[0][list], "");
  assert.ok(again.store.zones().every(({ isWhole }) => isWhole));
});
