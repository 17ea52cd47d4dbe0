// Folders for tests, with two servers, and an origin of web pages.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { FolderEngine, MemoryStorage, StoreFolder } from "../index.js";
import { atEnd, jotSchema, password, Server } from "./server.js";

export const schema = readFileSync(jotSchema, "utf8");

/** The pages' server, of an origin of its own: it has the client, and an empty page. */
const pages = createServer(({ url }, answer) => {
  const isClient = url.startsWith("/client/");
  answer.setHeader("Content-Type", isClient ? "text/javascript" : "text/html");
  answer.end(isClient ? readFileSync(new URL(`..${url.slice("/client".length)}`, import.meta.url)) : "<!doctype html><title>Test page</title>");
});
await new Promise((resolve) => { pages.listen(0, "127.0.0.1", resolve); });
export const origin = `http://127.0.0.1:${pages.address().port}`;

/** The servers of home and of the school, for all tests of this file. */
const data = ["home", "school"].map(() => mkdtempSync(join(tmpdir(), "holdfast-js-")));
export const servers = Promise.all(data.map(async (data) => {
  const server = new Server({ data, more: ["--allow-origin", origin] });
  await server.start();
  return server;
}));
after(async () => {
  pages.closeAllConnections();
  pages.close();
  for (const server of await servers) await server.kill();
  for (const path of data) rmSync(path, { recursive: true, force: true });
});

/** What a device keeps: several folders may share it, as tabs do. */
export function makeDisk() {
  const files = new Map();
  const broken = new Map();
  return {
    files, broken,
    storage: (name) => {
      if (!files.has(name)) files.set(name, new MemoryStorage());
      const storage = files.get(name);
      const own = Object.fromEntries(["close", "load", "changesSince", "commit", "remove"].map((call) => [call, (...words) => storage[call](...words)]));
      return { ...own, open: async () => { if (broken.has(name)) throw broken.get(name); } };
    },
  };
}

/** What a copy of the device keeps. */
export function copyOf({ files }) {
  const copy = makeDisk();
  for (const [name, { version, entries, log }] of files) {
    copy.files.set(name, Object.assign(new MemoryStorage(), { version, entries: new Map(entries), log: [...log] }));
  }
  return copy;
}

export const unreadable = new DOMException("Internal error.", "UnknownError");

export async function openFolder(t, disk = makeDisk(), options = {}) {
  const folder = await StoreFolder.open({ storage: disk.storage, schema, ...options });
  atEnd(t, () => folder.close());
  return folder;
}

let users = 0;
/** A name that no other test has. */
export const newName = () => `ada${users += 1}`;

/** A folder with home and the school, signed in to both as a new user. */
export async function start(t, { disk = makeDisk(), ...options } = {}) {
  const [home, school] = await servers;
  const folder = await openFolder(t, disk, options);
  await folder.add("school", { server: school.address });
  const engine = new FolderEngine({ folder, server: home.address, app: "tests", streams: false });
  const name = newName();
  await Promise.all(["home", "school"].map((database) => engine.engine(database).signUp(name, password)));
  return { disk, folder, engine, name, school: folder.store("school") };
}

export const titles = (folder) => folder.all("lists", { order: ["title"] }).map(({ title }) => title);
export const insertList = (title, more = {}) => (db) => db.insert("lists", { title, ...more });
export const insertItem = (list, title) => (db) => {
  const [position] = db.positions("items", 1, "last", { parent: list });
  return db.insert("items", { list_id: list, title, position });
};
export const states = (folder) => folder.databases.map(({ name, state }) => [name, state]);

export async function until(condition) {
  while (!condition()) await new Promise((resolve) => { setImmediate(resolve); });
}
