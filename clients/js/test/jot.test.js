// Jot on the web, as a person uses it.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import { Browser } from "./chromium.js";
import { Device } from "./devices.js";
import { folder, password, Server } from "./server.js";

const web = fileURLToPath(new URL("../../../Examples/JotWeb", import.meta.url));

test("the service worker keeps all files of the client", () => {
  const [, names] = /\.\.\.\[([^\]]*)\]\.map/.exec(readFileSync(`${web}/service-worker.js`, "utf8"));
  const files = readdirSync(fileURLToPath(new URL("../src", import.meta.url)));
  assert.deepEqual(names.match(/[a-z-]+/g).map((name) => `${name}.js`).sort(), files.sort());
});

async function start(t) {
  const server = await Server.start(t, { more: ["--web", web] });
  const browser = await Browser.start(t, folder(t));
  const tab = await browser.open(`${server.address}/`);
  await signUp(tab, "ada");
  return { server, tab };
}

async function signUp(tab, name) {
  await tab.until(() => document.querySelector("#welcome form"));
  await tab.run((name, password) => {
    const { elements } = document.querySelector("#welcome form");
    elements.name.value = name;
    elements.password.value = password;
    document.querySelector("#welcome button[value=new]").click();
  }, name, password);
  await tab.until(() => document.querySelector("#welcome").hidden);
}

const fill = (selector, text) => {
  const form = document.querySelector(selector);
  form.elements.title.value = text;
  form.requestSubmit();
};
const titles = () => [...document.querySelectorAll(".items .title")].map((field) => field.value);

async function makeList(tab, title, ...items) {
  await tab.run(fill, "#new-list", title);
  await tab.until((title) => document.querySelector("main h2")?.textContent === title, title);
  for (const [index, item] of items.entries()) {
    await tab.run(fill, "main form.add", item);
    await tab.until((count) => document.querySelectorAll(".items li").length === count, index + 1);
  }
}

async function press(tab, key, code) {
  for (const type of ["keyDown", "keyUp"]) await tab.send("Input.dispatchKeyEvent", { type, key, code: key, windowsVirtualKeyCode: code });
}

function setNetwork(tab, offline) {
  return tab.send("Network.emulateNetworkConditions", { offline, latency: 0, downloadThroughput: -1, uploadThroughput: -1 });
}

/** Returns when the page knows that it has no network: Chromium lets through what was sent before. */
async function loseNetwork(tab) {
  await tab.send("Network.enable", {});
  await setNetwork(tab, true);
  const code = await tab.run(async () => (await import("/page.js")).tabs.sync().then(() => "synced", (error) => error.code));
  assert.equal(code, "offline");
}

async function regainNetwork(tab) {
  await setNetwork(tab, false);
  await tab.run(() => dispatchEvent(new Event("online")));
}

test("the page starts and takes edits without a network, and sends them afterwards (I2, I3)", async (t) => {
  const { server, tab } = await start(t);
  await makeList(tab, "Groceries", "Milk", "Bread");
  await tab.run(async () => (await import("/page.js")).tabs.sync());
  await tab.run(async () => { await navigator.serviceWorker.ready; });
  await tab.until(async () => (await Promise.all((await caches.keys()).map(async (name) => (await caches.open(name)).match("/complete")))).some(Boolean));
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

test("items are moved by the arrow keys and by dragging, and undone", async (t) => {
  const { tab } = await start(t);
  await makeList(tab, "Groceries", "Milk", "Bread", "Tea");
  await tab.run(() => document.querySelector(".handle").focus());
  await press(tab, "ArrowDown", 40);
  await tab.until(() => [...document.querySelectorAll(".items .title")][1].value === "Milk");
  // The focus stays with the item.
  assert.match(await tab.run(() => document.activeElement.getAttribute("aria-label")), /^Move Milk, place 2 of 3/);
  const { x, from, to } = await tab.run(() => {
    const middle = (handle) => handle.getBoundingClientRect().top + handle.offsetHeight / 2;
    const [first, last] = [document.querySelector(".handle"), document.querySelector(".items li:last-child .handle")];
    return { x: first.getBoundingClientRect().left + 10, from: middle(last), to: middle(first) - 12 };
  });
  for (const [type, y] of [["mousePressed", from], ["mouseMoved", (from + to) / 2], ["mouseMoved", to], ["mouseReleased", to]]) {
    await tab.send("Input.dispatchMouseEvent", { type, x, y, button: "left", buttons: 1, clickCount: 1 });
  }
  await tab.until(() => document.querySelector(".items .title").value === "Tea");
  assert.deepEqual(await tab.run(titles), ["Tea", "Bread", "Milk"]);
  await tab.run(() => document.activeElement.blur());
  await tab.run(() => document.querySelector("#undo").click());
  await tab.until(() => document.querySelector(".items .title").value === "Bread");
  await tab.run(() => document.querySelector("#undo").click());
  await tab.until(() => document.querySelector(".items .title").value === "Milk");
  assert.deepEqual(await tab.run(titles), ["Milk", "Bread", "Tea"]);
  await tab.run(() => document.querySelector("#redo").click());
  await tab.until(() => document.querySelector(".items .title").value === "Bread");
});

test("lists are shared; questions and refused edits wait for the person (I3)", async (t) => {
  const { server, tab } = await start(t);
  const bob = await Device.signUp("bob", { server });
  const list = await bob.makeList("Party", "Cake");
  await bob.write((db) => db.insert("members", { zone: list, name: "ada", role: "editor" }));
  await bob.sync();
  await tab.run(async () => (await import("/dialogs.js")).lookForInvitations());
  await tab.run(() => document.querySelector("#inbox").click());
  const click = (text) => [...document.querySelectorAll("#dialog button")].find((button) => button.textContent === text).click();
  await tab.run(click, "Accept");
  await tab.until(() => document.querySelector("#lists a") && document.querySelector("#inbox").hidden);
  await tab.run(() => { document.querySelector("#dialog").close(); document.querySelector("#lists a").click(); });
  await tab.until(() => document.querySelectorAll(".items li").length === 1);

  // Both rename the cake.
  const cake = bob.item("Cake").id;
  await loseNetwork(tab);
  await bob.write((db) => db.update("items", cake, { title: "Plum cake" }));
  await bob.sync();
  await tab.run(() => {
    const field = document.querySelector(".items .title");
    field.focus();
    field.value = "Apple cake";
    field.dispatchEvent(new Event("change"));
    field.blur();
  });
  await regainNetwork(tab);
  await tab.until(() => !document.querySelector("#inbox").hidden);
  assert.deepEqual(await tab.run(titles), ["Plum cake"]);
  await tab.run(() => document.querySelector("#inbox").click());
  await tab.run(click, "Take \u201cApple cake\u201d");
  await tab.until(() => document.querySelector(".items .title").value === "Apple cake");
  await tab.run(async () => (await import("/page.js")).tabs.sync());
  await bob.sync();
  assert.equal(bob.store.get("items", cake).title, "Apple cake");

  // Ada may only read from now on, and writes before the page knows.
  await loseNetwork(tab);
  await bob.write((db) => db.update("members", bob.store.all("members").find(({ name }) => name === "ada").id, { role: "viewer" }));
  await bob.sync();
  await tab.run(fill, "main form.add", "Balloons");
  await tab.until(() => document.querySelectorAll(".items li").length === 2);
  await regainNetwork(tab);
  await tab.until(() => document.querySelectorAll(".items li").length === 1 && !document.querySelector("#inbox").hidden);
  await tab.run(() => document.querySelector("#inbox").click());
  assert.match(await tab.run(() => document.querySelector("#dialog").textContent), /create \u201cBalloons\u201d/);
  await tab.run(click, "Discard");
  await tab.until(() => document.querySelector("#inbox").hidden);
});

test("each control has a name for screen readers", async (t) => {
  const { tab } = await start(t);
  await makeList(tab, "Groceries", "Milk");
  await tab.run(() => document.querySelector(".more").click());
  const controls = new Set(["button", "checkbox", "textbox", "link", "combobox"]);
  const expectNames = async () => {
    const { nodes } = await tab.send("Accessibility.getFullAXTree");
    const shown = nodes.filter(({ ignored, role }) => !ignored && controls.has(role?.value));
    assert.ok(shown.length > 3);
    for (const { role, name } of shown) assert.ok(name?.value, `a ${role.value} without a name`);
  };
  await expectNames();
  await tab.run(() => [...document.querySelectorAll(".heading button")].find(({ textContent }) => textContent === "Share").click());
  await expectNames();
});
