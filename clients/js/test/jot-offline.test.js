// The files of Jot on the web, which its service worker keeps for the time without a network.

import assert from "node:assert/strict";
import { appendFileSync, cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import { openBrowser } from "./chromium.js";
import { Device } from "./devices.js";
import { fill, makeList, start, sync, web } from "./jot-page.js";
import { atEnd, folder, Server } from "./server.js";

test("the service worker keeps all files of the client", () => {
  const [, names] = /\.\.\.\[([^\]]*)\]\.map/.exec(readFileSync(`${web}/service-worker.js`, "utf8"));
  const files = readdirSync(fileURLToPath(new URL("../src", import.meta.url)));
  assert.deepEqual(names.match(/[a-z-]+/g).map((name) => `${name}.js`).sort(), files.sort());
});

/** A page of a copy of Jot's files, kept by the service worker. @returns `publish(word)` as well, which makes another version of them. */
async function startCopy(t, more) {
  const files = folder(t);
  cpSync(web, files, { recursive: true });
  const page = await start(t, files, more);
  await page.tab.until(isKept);
  return { ...page, files, publish: (word) => appendFileSync(join(files, "jot.css"), `/* ${word} */`) };
}

/** Whether a version is kept whole, with a word in a file. */
const isKept = async (word = "", file = "/jot.css") => {
  for (const cacheName of await caches.keys()) {
    if (await caches.match("/complete", { cacheName }) && (await (await caches.match(file, { cacheName }))?.text())?.includes(word)) return true;
  }
  return false;
};
const hasStyle = async (word) => (await (await fetch("/jot.css")).text()).includes(word);

test("the page starts and takes edits without a network, and sends them afterwards (I2, I3)", async (t) => {
  const { server, tab } = await start(t);
  await makeList(tab, "Groceries", "Milk", "Bread");
  await sync(tab);
  await tab.until(isKept);
  await server.kill();
  await tab.load(`${server.address}/`);
  await tab.until(() => document.querySelector("#lists a"));
  await tab.run(() => document.querySelector("#lists a").click());
  await tab.until(() => document.querySelectorAll(".items li").length === 2);
  await tab.run(fill, "main form.add", "Tea");
  await tab.until(() => document.querySelector("#status").dataset.state === "offline" && /1 edit to send/.test(document.querySelector("#status").textContent));
  assert.equal(await tab.run(() => document.querySelectorAll(".mark:not([hidden])").length), 1);
  await server.start();
  await tab.run(() => dispatchEvent(new Event("online")));
  await tab.until(() => document.querySelector("#status").textContent === "Synced");
  const phone = await Device.signIn("ada", { server });
  await phone.sync();
  assert.deepEqual(phone.titles(phone.store.all("lists")[0].id), ["Milk", "Bread", "Tea"]);
});

test("a page has all files of the version that it began with, and the next one those of the new version", async (t) => {
  const { server, browser, tab, files, publish } = await startCopy(t);
  await tab.load(`${server.address}/`);
  publish("second");
  const other = await browser.open(`${server.address}/`);
  await other.until(isKept, "second");
  assert.deepEqual([await tab.run(hasStyle, "second"), await other.run(hasStyle, "second")], [false, false]);
  await other.load(`${server.address}/`);
  assert.deepEqual([await tab.run(hasStyle, "second"), await other.run(hasStyle, "second")], [false, true]);

  // A version with a file more has another worker, which knows it.
  const worker = readFileSync(join(files, "service-worker.js"), "utf8");
  writeFileSync(join(files, "more.css"), "/* third */");
  publish("third");
  writeFileSync(join(files, "service-worker.js"), worker.replace('"/jot.css",', '"/jot.css", "/more.css",'));
  await other.load(`${server.address}/`);
  await other.until(isKept, "third", "/more.css");
  assert.equal(await other.run(hasStyle, "third"), false);
  await other.load(`${server.address}/`);
  assert.equal(await other.run(hasStyle, "third"), true);
});

test("a page that begins while another one's look is under way has its own", async (t) => {
  const { server, browser, tab, publish } = await startCopy(t);
  // As a look that has asked the server before there was something new.
  await tab.run(() => new Promise((held) => {
    navigator.locks.request("files", () => new Promise((release) => {
      globalThis.release = release;
      held();
    }));
  }));
  publish("second");
  const other = await browser.open(`${server.address}/`);
  await other.until(async () => (await navigator.locks.query()).pending.some(({ name }) => name === "files"));
  await tab.run(() => release());
  await tab.until(isKept, "second");
});

test("tabs that begin at once after a new version keep it whole", async (t) => {
  const { server, browser, tab, publish } = await startCopy(t);
  for (const word of ["second", "third", "fourth"]) {
    publish(word);
    const tabs = await Promise.all(Array.from({ length: 4 }, () => browser.open(`${server.address}/`)));
    await tab.until(isKept, word);
    for (const other of tabs) await other.close();
  }
  await server.kill();
  await tab.load(`${server.address}/`);
  await tab.until(() => document.querySelector("#lists"));
});

test("what answers in place of the server is not kept", async (t) => {
  const { server, tab } = await startCopy(t);
  await makeList(tab, "Groceries");
  await server.kill();
  const paths = new Set();
  const other = createServer(({ url }, answer) => {
    paths.add(url);
    answer.writeHead(200, { "Content-Type": "text/html", ETag: '"noon"' });
    answer.end("<h1>We are back at noon</h1>");
  });
  await new Promise((resolve) => { other.listen(server.port, "127.0.0.1", resolve); });
  atEnd(t, () => { other.close(); other.closeAllConnections(); });
  for (let start = 0; start < 2; start++) {
    paths.clear();
    await tab.load(`${server.address}/`);
    await tab.until(() => document.querySelector("#lists a"));
    // The worker looks for a new version, and then no more.
    while (!paths.has("/icon.svg")) await new Promise((resolve) => { setImmediate(resolve); });
    await tab.run(() => navigator.locks.request("files", () => {}));
  }
  assert.equal(await tab.run(isKept, "noon", "/"), false);
});

test("the files of several servers behind one address are one version", async (t) => {
  const servers = [];
  for (let count = 0; count < 2; count++) {
    const files = folder(t);
    cpSync(web, files, { recursive: true });
    servers.push(await Server.start(t, { more: ["--web", files] }));
  }
  // Each file comes from the one and the other in turn.
  const counts = new Map();
  const proxy = createServer((incoming, outgoing) => {
    const count = counts.get(incoming.url) ?? 0;
    counts.set(incoming.url, count + 1);
    const { port } = servers[count % 2];
    const passed = request({ port, host: "127.0.0.1", path: incoming.url, method: incoming.method, headers: incoming.headers }, (answer) => {
      outgoing.writeHead(answer.statusCode, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on("error", () => outgoing.destroy());
    incoming.pipe(passed);
  });
  await new Promise((resolve) => { proxy.listen(0, "127.0.0.1", resolve); });
  atEnd(t, () => { proxy.close(); proxy.closeAllConnections(); });
  const browser = await openBrowser(t);
  const address = `http://127.0.0.1:${proxy.address().port}/`;
  const tab = await browser.open(address);
  await tab.until(isKept);
  const versions = () => tab.run(async () => (await caches.keys()).filter((name) => name.startsWith("jot ")));
  const before = await versions();
  const looked = counts.get("/icon.svg");
  await tab.load(address);
  while (counts.get("/icon.svg") === looked) await new Promise((resolve) => { setImmediate(resolve); });
  await tab.run(() => navigator.locks.request("files", () => {}));
  assert.deepEqual(await versions(), before);
});

test("other pages of the server are shown beside Jot", async (t) => {
  const token = join(folder(t), "token");
  writeFileSync(token, "an operator's token of 32 bytes or more");
  const { server, tab } = await startCopy(t, ["--console", token]);
  await tab.load(`${server.address}/console/`);
  await tab.until(() => document.querySelector("#sign-in"));
  await tab.load(`${server.address}/v1/schema`);
  assert.match(await tab.run(() => document.body.textContent), /"holdfast"/);
});
