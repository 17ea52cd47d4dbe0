// What happens to the server: kills, a full disk, a database that is slow, and a process that stands still.

import { execFileSync, spawn } from "node:child_process";
import { closeSync, openSync, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const programs = process.env.HOLDFAST_BIN ?? ".build/debug";

export class Faults {
  constructor(server, data, report) {
    Object.assign(this, { server, data, report, counts: { kills: 0, "full disks": 0, "slow databases": 0, pauses: 0 } });
    this.now = "";
  }

  get summary() {
    return Object.entries(this.counts).map(([name, count]) => `${count} ${name}`).join(", ");
  }

  /** Starts the server, and watches that it neither ends by itself nor answers with 500. */
  async start() {
    await this.server.start();
    const { process } = this.server;
    process.stderr.on("data", (data) => {
      for (const line of String(data).split("\n")) if (line.includes('"status":500')) this.report(line);
    });
    process.once("exit", (code, signal) => {
      if (process !== this.killed) this.report(`the server ended with ${code ?? signal}`);
    });
  }

  async kill() {
    this.counts.kills += 1;
    this.killed = this.server.process;
    await this.server.kill();
    await sleep(2000);
    await this.start();
  }

  /** Fills the file system for some seconds. */
  async fill() {
    this.counts["full disks"] += 1;
    const path = join(this.data, "filler");
    const file = openSync(path, "w");
    try {
      for (const size of [1 << 20, 4096, 1]) {
        const bytes = Buffer.alloc(size);
        try {
          while (writeSync(file, bytes) === size);
        } catch (error) {
          if (error.code !== "ENOSPC") throw error;
        }
      }
      await sleep(8000);
    } finally {
      closeSync(file);
      unlinkSync(path);
    }
  }

  /** Another program holds the database's lock, as long as a backup of others might. */
  async lock() {
    this.counts["slow databases"] += 1;
    const shell = spawn("sqlite3", [join(this.data, "holdfast.db")], { stdio: ["pipe", "ignore", "ignore"] });
    shell.stdin.write(".timeout 20000\nBEGIN IMMEDIATE;\n");
    await sleep(7000);
    shell.stdin.end("COMMIT;\n");
    await new Promise((resolve) => shell.once("exit", resolve));
  }

  /** The process stands still, as when the machine swaps. */
  async pause() {
    this.counts.pauses += 1;
    this.server.process.kill("SIGSTOP");
    await sleep(4000);
    this.server.process.kill("SIGCONT");
  }

  /** One fault after the other, with calm between. */
  async live({ isOver, lastKill, calm }) {
    let isCalm = false;
    for (let number = 0; !isOver(); number++) {
      const mayKill = Date.now() < lastKill;
      if (!mayKill && !isCalm) {
        isCalm = true;
        calm();
      }
      const next = (mayKill ? ["kill", "fill", "kill", "lock", "kill", "pause"] : ["fill", "lock", "pause"]);
      this.now = next[number % next.length];
      await this[this.now]();
      this.now = "";
      for (let second = 0; second < 20 && !isOver(); second++) await sleep(1000);
    }
  }

  /** What the doctor finds; nothing if all is well. */
  async doctor() {
    try {
      execFileSync(join(programs, "holdfast"), ["doctor", "--data", this.data], { encoding: "utf8" });
      return "";
    } catch (error) {
      return `${error.stdout}${error.stderr}`;
    }
  }

  async stop() {
    this.killed = this.server.process;
    this.server.process.kill("SIGTERM");
    await this.server.ended;
  }
}
