// Jot on the web, as a person uses it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Device } from "./devices.js";
import { fill, loseNetwork, makeList, press, regainNetwork, signUp, start, sync, titles } from "./jot-page.js";

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
  await sync(tab);
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

test("an inbox closes with its last question, and a question ends with its record", async (t) => {
  const { server, tab } = await start(t);
  await makeList(tab, "Groceries", "Milk", "Bread");
  await sync(tab);
  const phone = await Device.signIn("ada", { server });
  await phone.sync();
  await loseNetwork(tab);
  await tab.run(async () => {
    const { store, write } = await import("/page.js");
    await write((db) => { for (const { id, title } of store.all("items")) db.update("items", id, { title: `${title} of the page` }); });
  });
  await phone.write((db) => { for (const { id, title } of db.all("items")) db.update("items", id, { title: `${title} of the phone` }); });
  await phone.sync();
  await regainNetwork(tab);
  await tab.until(() => document.querySelector("#inbox").textContent === "2");
  // There is nothing to choose for a record that is deleted.
  await phone.write((db) => db.delete("items", phone.item("Bread of the phone").id));
  await phone.sync();
  await tab.until(() => document.querySelector("#inbox").textContent === "1");
  await tab.run(() => document.querySelector("#inbox").click());
  await tab.run(() => document.querySelector("#dialog article button").click());
  await tab.until(() => document.querySelector("#inbox").hidden);
  assert.equal(await tab.run(() => document.querySelector("#dialog").open), false);
});

test("an address that names no list shows the lists", async (t) => {
  const { server, browser, tab } = await start(t);
  await makeList(tab, "Groceries");
  const other = await browser.open(`${server.address}/#%`);
  await other.until(() => document.querySelector("#lists a"));
});

test("whoever uses the page after a sign-out that removes the data sees nothing of the one before (I10)", async (t) => {
  const { server, tab } = await start(t);
  const bob = await Device.signUp("bob", { server });
  const list = await bob.makeList("Secret party");
  await bob.write((db) => db.insert("members", { zone: list, name: "ada", role: "editor" }));
  await bob.sync();
  await tab.run(async () => (await import("/dialogs.js")).lookForInvitations());
  await tab.until(() => !document.querySelector("#inbox").hidden);
  await sync(tab);
  await tab.run(() => document.querySelector("#account").click());
  await tab.run(() => document.querySelector("#dialog .danger").click());
  await tab.until(() => !document.querySelector("#welcome").hidden && !document.querySelector("#dialog").open);
  assert.match(await tab.run(() => document.querySelector("#welcome").textContent), /Make an account/);
  assert.equal(await tab.run(() => document.querySelector("#inbox").hidden), true);
  await signUp(tab, "eve");
  await sync(tab);
  assert.equal(await tab.run(() => document.querySelector("#inbox").hidden), true);
});

test("a page of an older app than the store says so", async (t) => {
  const { server, browser, tab } = await start(t);
  const later = await browser.open(`${server.address}/jot.css`);
  await later.run(async () => {
    const { IndexedDBStorage, Store } = await import("/client/index.js");
    await Store.open({ storage: new IndexedDBStorage("jot"), schema: { ...await (await fetch("/v1/schema")).json(), version: 7 } });
  });
  await tab.load(`${server.address}/`);
  await tab.until(() => /Update the app/.test(document.querySelector("#said").textContent));
});
