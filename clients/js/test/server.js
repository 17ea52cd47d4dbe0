// `holdfast serve` and `jot` as processes, for tests.

import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const programs = process.env.HOLDFAST_BIN ?? join(root, ".build/debug");

/** The schema of Jot. */
export const jotSchema = join(root, "Examples/Jot/holdfast.json");

export const password = "correct-horse";

const cleanups = new WeakMap();

/** Runs `body` at the end of a test, before what was to be run earlier: processes end before their folders go. */
export function atEnd(test, body) {
  const bodies = cleanups.get(test);
  if (bodies) return bodies.push(body);
  const own = [body];
  cleanups.set(test, own);
  return test.after(async () => {
    for (const body of own.reverse()) await body();
  });
}

/** A new folder, which goes with the test. */
export function folder(test) {
  const path = mkdtempSync(join(tmpdir(), "holdfast-js-"));
  atEnd(test, () => rmSync(path, { recursive: true, force: true, maxRetries: 5 }));
  return path;
}

/** A server on a port of its own, which can be killed and started again. */
export class Server {
  /** @param options `schema`, `data` (a folder), further `arguments` of `holdfast serve`. */
  constructor({ schema = jotSchema, data, more = [] }) {
    Object.assign(this, { schema, data, more, port: 0 });
  }

  static async start(test, options = {}) {
    const server = new Server({ data: folder(test), ...options });
    atEnd(test, () => server.kill());
    await server.start();
    return server;
  }

  get address() {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Returns when it listens. */
  async start() {
    const own = ["serve", "--schema", this.schema, "--data", this.data, "--listen", `127.0.0.1:${this.port}`];
    this.process = spawn(join(programs, "holdfast"), [...own, ...this.more], { stdio: ["ignore", "pipe", "pipe"] });
    let [said, errors] = ["", ""];
    this.process.stderr.on("data", (data) => { errors = (errors + data).slice(-4000); });
    this.ended = new Promise((resolve) => this.process.once("exit", resolve));
    await new Promise((resolve, reject) => {
      this.process.stdout.on("data", (data) => {
        said += data;
        const match = /:(\d+)\n/.exec(said);
        if (!match) return;
        this.port = Number(match[1]);
        resolve();
      });
      this.process.once("exit", () => reject(new Error(`The server did not start: ${said}${errors}`)));
      this.process.once("error", reject);
    });
  }

  /** SIGKILL, in the middle of whatever it does. */
  async kill() {
    this.process.kill("SIGKILL");
    await this.ended;
  }
}

/** Runs a command of `holdfast`, as an operator does. */
export function run(...words) {
  execFileSync(join(programs, "holdfast"), words, { stdio: "pipe" });
}

/** Runs Jot on a device's file. @returns what it prints. */
export function jot(file, server, ...words) {
  const child = spawn(join(programs, "jot"), ["--db", file, ...words], {
    env: { ...process.env, JOT_SERVER: server.address, JOT_PASSWORD: password, HOME: join(file, "..") },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [output, errors] = ["", ""];
  child.stdout.on("data", (data) => { output += data; });
  child.stderr.on("data", (data) => { errors += data; });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (status) => {
      if (status === 0) resolve(output);
      else reject(new Error(`jot ${words.join(" ")} ended with ${status}: ${output}${errors}`));
    });
  });
}
