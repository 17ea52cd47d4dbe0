// A server that is backed up and restored, for tests.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Device } from "./devices.js";
import { folder, run, Server } from "./server.js";

/** Starts a server of a schema. */
export async function restorable(t, form) {
  const schema = join(folder(t), "schema.json");
  writeFileSync(schema, JSON.stringify(form));
  const server = await Server.start(t, { schema });
  const backup = join(folder(t), "backup");
  return {
    server, schema,
    signUp: (name) => Device.signUp(name, { server, schema }),
    signIn: (name) => Device.signIn(name, { server, schema }),
    /** A new device, which has what the server has. */
    fresh: async (name) => {
      const device = await Device.signIn(name, { server, schema });
      await device.sync();
      return device;
    },
    backUp: () => run("backup", "--data", server.data, backup),
    restore: async () => {
      await server.kill();
      run("restore", "--replace", "--data", server.data, backup);
      await server.start();
    },
  };
}

/** Makes a user a member of a list of another one. */
export async function share(owner, list, name, role, member) {
  await owner.write((db) => db.insert("members", { zone: list, name, role }));
  await owner.sync();
  const { memberships } = await member.engine.request("GET", "v1/memberships");
  for (const { id } of memberships) await member.engine.request("POST", `v1/memberships/${id}/accept`);
  await member.sync();
  await owner.sync();
}

const text = { type: "text" };

/** Lists with items. @param roles of items. */
export function listsForm(roles) {
  return {
    holdfast: 1, name: "recovery", tables: {
      lists: { zone: "root", columns: { title: text } },
      items: { zone: { parent: "list" }, columns: { list: { type: "reference", to: "lists", required: true, on_delete: "cascade" }, title: text, note: text }, roles },
    },
  };
}
