// Devices for tests: the store and the engine, in memory or with a storage of the test's.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { FetchTransport, MemoryStorage, Store, SyncEngine } from "../index.js";
import { jotSchema, password } from "./server.js";

/** A device of a schema, which is not signed in. */
export class Device {
  static async open({ server, storage = new MemoryStorage(), schema = jotSchema, transport, environment }) {
    const device = new Device();
    device.storage = storage;
    device.store = await Store.open({ storage, schema: readFileSync(schema, "utf8"), environment });
    device.engine = new SyncEngine({
      store: device.store, transport: transport ?? new FetchTransport(server.address), app: "tests", streams: false,
    });
    return device;
  }

  static async signUp(name, options) {
    const device = await Device.open(options);
    await device.engine.signUp(name, password, "first");
    return device;
  }

  static async signIn(name, options) {
    const device = await Device.open(options);
    await device.engine.signIn(name, password, "second");
    return device;
  }

  sync() {
    return this.engine.sync();
  }

  write(body) {
    return this.store.write(body);
  }

  /** Makes a list with items, in one transaction. @returns the list's id. */
  makeList(title, ...items) {
    return this.write((db) => {
      const list = db.insert("lists", { title });
      const positions = db.positions("items", items.length, "last", { parent: list });
      items.forEach((title, index) => db.insert("items", { list_id: list, title, position: positions[index] }));
      return list;
    });
  }

  item(title) {
    return this.store.all("items").find((item) => item.title === title);
  }

  titles(list) {
    return this.store.reader().list("items", list).map(({ title }) => title);
  }

  /** All records, of all tables. */
  contents() {
    const found = {};
    for (const table of this.store.schema.tables.keys()) found[table] = this.store.all(table);
    return found;
  }
}

/** Syncs until nobody has anything new, then compares. */
export async function expectAgreement(...devices) {
  for (const device of devices) await device.sync();
  for (const device of devices) await device.sync();
  for (const device of devices) {
    assert.equal(device.store.waitingOperations, 0);
    assert.deepEqual(device.contents(), devices[0].contents());
  }
}

/** Changes each answer of a sync, by its number. @param change may give the text of another one. @returns `{count, stop()}` */
export function falsify(device, change) {
  const { transport } = device.engine;
  const falsified = { count: 0, stop: () => { device.engine.transport = transport; } };
  device.engine.transport = {
    request: async (request) => {
      const answer = await transport.request(request);
      if (request.path !== "v1/sync" || answer.status !== 200) return answer;
      const form = JSON.parse(answer.body);
      const body = await change(form, falsified.count, answer.body) ?? JSON.stringify(form);
      falsified.count += 1;
      return { ...answer, body };
    },
  };
  return falsified;
}
