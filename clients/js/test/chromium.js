// Chromium without a window, driven by the DevTools protocol over a pipe (--remote-debugging-pipe).

import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { atEnd } from "./server.js";

const profile = join(tmpdir(), `holdfast-js-${randomUUID()}`);
let shared;
after(async () => {
  await (await shared)?.kill();
  rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
});

/** A browser as a test finds it: nothing of another test is kept in it. All of a file are windows of one process. */
export async function openBrowser(test) {
  shared ??= Browser.launch(profile);
  const browser = await shared;
  const { browserContextId } = await browser.send("Target.createBrowserContext");
  atEnd(test, () => browser.send("Target.disposeBrowserContext", { browserContextId }));
  return { open: (url) => browser.open(url, { browserContextId }) };
}

/** A browser of a profile, which can be killed and started again. */
export class Browser {
  /** @param profile a folder for all that the browser keeps. */
  static async start(test, profile) {
    const browser = await Browser.launch(profile);
    atEnd(test, () => browser.kill());
    return browser;
  }

  static async launch(profile) {
    const browser = new Browser();
    browser.process = spawn("chromium-headless-shell", [
      "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync",
      "--disable-component-update", "--disable-dev-shm-usage", "--remote-debugging-pipe", `--user-data-dir=${profile}`,
    ], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"], detached: true });
    browser.ended = new Promise((resolve) => browser.process.once("exit", resolve));
    browser.waiting = new Map();
    browser.listeners = new Set();
    browser.next = 1;
    const decoder = new TextDecoder();
    let rest = "";
    browser.process.stdio[4].on("data", (data) => {
      const messages = (rest + decoder.decode(data, { stream: true })).split("\0");
      rest = messages.pop();
      for (const message of messages) browser.receive(JSON.parse(message));
    });
    browser.process.stdio[3].on("error", () => {});
    await browser.send("Browser.getVersion");
    return browser;
  }

  receive({ id, result, error, method, params, sessionId }) {
    if (id === undefined) {
      for (const listener of [...this.listeners]) listener({ method, params, sessionId });
      return;
    }
    const { resolve, reject } = this.waiting.get(id);
    this.waiting.delete(id);
    if (error) reject(new Error(error.message));
    else resolve(result);
  }

  send(method, params = {}, sessionId = undefined) {
    const id = this.next++;
    const answer = new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
    this.process.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + "\0");
    return answer;
  }

  /** Opens a page, and returns when it is loaded. */
  async open(url, context = {}) {
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank", ...context });
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
    const page = new Page(this, targetId, sessionId);
    await page.send("Page.enable");
    await page.send("Runtime.enable");
    await page.load(url);
    return page;
  }

  /** SIGKILL to all of its processes. */
  async kill() {
    try {
      process.kill(-this.process.pid, "SIGKILL");
    } catch {
      // It has ended.
    }
    await this.ended;
  }
}

class Page {
  constructor(browser, target, session) {
    Object.assign(this, { browser, target, session });
  }

  send(method, params) {
    return this.browser.send(method, params, this.session);
  }

  /** The next event of a kind. */
  event(name) {
    return new Promise((resolve) => {
      const listener = ({ method, params, sessionId }) => {
        if (method !== name || sessionId !== this.session) return;
        this.browser.listeners.delete(listener);
        resolve(params);
      };
      this.browser.listeners.add(listener);
    });
  }

  async load(url) {
    const loaded = this.event("Page.loadEventFired");
    await this.send("Page.navigate", { url });
    await loaded;
  }

  /** Runs a function in the page, with arguments that are JSON; waits for its promise. @returns its value. */
  async run(body, ...values) {
    const expression = `(${body})(${values.map((value) => JSON.stringify(value)).join(", ")})`;
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  /** Runs a function in the page until it gives something true; says what it waits for when that takes long. @returns that. */
  until(body, ...values) {
    const timer = setTimeout(async () => {
      const shown = await this.run(() => document.body.innerText).catch((error) => error.message);
      console.error(`Still waiting for ${body} of ${JSON.stringify(values)}. The page shows: ${shown}`);
    }, 60_000).unref();
    return this.run(`async (...values) => {
      for (;;) {
        const found = await (${body})(...values);
        if (found) return found;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }`, ...values).finally(() => clearTimeout(timer));
  }

  close() {
    return this.browser.send("Target.closeTarget", { targetId: this.target });
  }
}
