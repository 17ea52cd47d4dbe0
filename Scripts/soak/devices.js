// Devices that write without end: each on its own items of one shared list, so that what must be there at the end is known.

import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { MemoryStorage } from "../../clients/js/index.js";
import { Device } from "../../clients/js/test/devices.js";
import { jot } from "../../clients/js/test/server.js";

/** How many items a device keeps; it removes its oldest ones. */
const kept = 60;

class Writer {
  constructor(name) {
    this.name = name;
    /** The titles of this device's items, oldest first. */
    this.titles = new Set();
    this.edits = 0;
    this.count = 0;
    /** The server could not be reached, or had no time. */
    this.failures = 0;
  }

  /** Writes and syncs until it is over. A write must always succeed: it is on the device. */
  async live(isOver, report) {
    while (!isOver()) {
      try {
        await this.edit();
      } catch (error) {
        report(`${this.name} could not write: ${error.message.slice(0, 300)}`);
      }
      if (this.count % 3 === 0) await this.sync();
      await sleep(this.pause);
    }
  }

  async edit() {
    this.count += 1;
    const oldest = [...this.titles][0];
    if (this.titles.size >= kept) {
      await this.remove(oldest);
      this.titles.delete(oldest);
    } else if (this.count % 4 === 0 && oldest) {
      const title = `${this.name}-${String(this.count).padStart(7, "0")}-renamed`;
      await this.rename(oldest, title);
      this.titles.delete(oldest);
      this.titles.add(title);
    } else {
      const title = `${this.name}-${String(this.count).padStart(7, "0")}`;
      await this.add(title);
      this.titles.add(title);
    }
    this.edits += 1;
  }
}

/** `jot` on a file: a process for each command. */
export class SwiftDevice extends Writer {
  constructor(name, folder, server) {
    super(name);
    Object.assign(this, { file: join(folder, `${name}.db`), server, pause: 400 });
  }

  run(...words) {
    return jot(this.file, this.server, ...words);
  }

  add(title) {
    return this.run("add", "Soak", title);
  }

  rename(from, to) {
    return this.run("rename", "Soak", from, to);
  }

  remove(title) {
    return this.run("remove", "Soak", title);
  }

  async sync() {
    try {
      await this.run("sync");
    } catch {
      this.failures += 1;
    }
  }

  query(sql) {
    return execFileSync("sqlite3", ["-bail", "-noheader", "-list", "-cmd", ".timeout 5000", this.file, sql], { encoding: "utf8" }).trim();
  }

  waiting() {
    return Number(this.query("SELECT coalesce((SELECT max(last) FROM holdfast_outbox), confirmed) - confirmed FROM holdfast_local"));
  }

  /** The titles in the order of the list. */
  listed() {
    const text = this.query(
      "SELECT title FROM items WHERE list_id = (SELECT id FROM lists WHERE title = 'Soak') ORDER BY position, id");
    return text === "" ? [] : text.split("\n");
  }
}

/** The JavaScript client, with records in memory. */
export class WebDevice extends Writer {
  static async signIn(name, user, server) {
    const device = new WebDevice(name);
    Object.assign(device, { server, user, pause: 300, storage: new MemoryStorage() });
    device.device = await Device.signIn(user, { server, storage: device.storage });
    await device.device.sync();
    return device;
  }

  list() {
    return this.device.store.all("lists").find(({ title }) => title === "Soak").id;
  }

  /** Now and then the tab is closed, and opened again on what was stored. */
  async edit() {
    if (this.count % 100 === 99) {
      this.device = await Device.open({ server: this.server, storage: this.storage });
    }
    await super.edit();
  }

  add(title) {
    const list = this.list();
    return this.device.write((db) => {
      const [position] = db.positions("items", 1, "last", { parent: list });
      db.insert("items", { list_id: list, title, position });
    });
  }

  rename(from, to) {
    const { id } = this.device.item(from);
    return this.device.write((db) => db.update("items", id, { title: to }));
  }

  remove(title) {
    const { id } = this.device.item(title);
    return this.device.write((db) => db.delete("items", id));
  }

  async sync() {
    try {
      await this.device.sync();
    } catch {
      this.failures += 1;
    }
  }

  waiting() {
    return this.device.store.waitingOperations + this.device.store.quarantined().length;
  }

  listed() {
    return this.device.titles(this.list());
  }

  /** A token of another session of the same user, for readers. */
  async token() {
    const answer = await fetch(`${this.server.address}/v1/sessions`, {
      method: "POST", headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ name: this.user, password: "correct-horse", device: { name: "reader" } }),
    });
    return (await answer.json()).token;
  }
}
