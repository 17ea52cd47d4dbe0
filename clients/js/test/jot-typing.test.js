// What a person types into Jot on the web is never lost: it is stored, or stays in its field.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Device } from "./devices.js";
import { fill, focus, leave, makeList, start, stored, sync, titles, type } from "./jot-page.js";

const note = "textarea[aria-label=Note]";
const notes = (tab) => tab.run((note) => [...document.querySelectorAll(`.items ${note}`)].map((field) => field.value), note);
const isSaid = (words) => document.querySelector("#said").textContent.includes(words);

/** A list of a page and of a phone. */
async function startTwo(t, ...items) {
  const page = await start(t);
  await makeList(page.tab, "Groceries", ...items);
  await sync(page.tab);
  const phone = await Device.signIn("ada", { server: page.server });
  await phone.sync();
  const write = async (body) => {
    await phone.write(body);
    await phone.sync();
    await sync(page.tab);
  };
  return { ...page, phone, write };
}

test("a note that is typed on top of what another device wrote has each edit once (I3)", async (t) => {
  const { tab, phone, write } = await startTwo(t, "Milk", "Bread");
  const setNote = (title, text) => write((db) => db.update("items", phone.item(title).id, { note: text }));
  await setNote("Milk", "two");
  await focus(tab, 0, note);
  await setNote("Milk", "two of them");
  await tab.until(() => document.activeElement.value === "two of them");
  await type(tab, " now");
  await leave(tab);
  await tab.until(async () => (await import("/page.js")).store.all("items").some((item) => item.note === "two of them now"));

  // Turned back to what it was before.
  await setNote("Bread", "rye");
  await focus(tab, 1, note);
  await setNote("Bread", "rye, sliced");
  await tab.until(() => document.activeElement.value === "rye, sliced");
  await tab.run(() => document.activeElement.select());
  await type(tab, "rye");
  await leave(tab);
  await tab.until(async () => (await import("/page.js")).store.all("items").some((item) => item.note === "rye"));
  assert.deepEqual(await notes(tab), ["two of them now", "rye"]);
});

test("what is typed while a note is being written is written too (I3)", async (t) => {
  const { tab } = await startTwo(t, "Milk");
  await focus(tab, 0, note);
  await type(tab, "first");
  await tab.run(() => {
    const field = document.activeElement;
    field.blur();
    field.focus();
    document.execCommand("insertText", false, " second");
  });
  await leave(tab);
  await tab.until(async () => (await import("/page.js")).store.all("items")[0].note === "first second");
  assert.deepEqual(await notes(tab), ["first second"]);
});

test("what is typed stays in its field when it can't be written (I3)", async (t) => {
  const { server, browser, tab } = await startTwo(t, "Milk");
  await focus(tab, 0, note);
  await type(tab, "x".repeat(10_001));
  await leave(tab);
  await tab.until(isSaid, "more than 10000 characters");
  assert.equal((await notes(tab))[0].length, 10_001);
  await tab.run((note) => { document.querySelector(note).focus(); document.activeElement.select(); }, note);
  await type(tab, "short");
  await leave(tab);
  await tab.until(async () => (await import("/page.js")).store.all("items")[0].note === "short");

  // A tab of a later version of the app takes the store over.
  const later = await browser.open(`${server.address}/jot.css`);
  await later.run(async () => {
    const { IndexedDBStorage, Store } = await import("/client/index.js");
    await Store.open({ storage: new IndexedDBStorage("jot"), schema: { ...await (await fetch("/v1/schema")).json(), version: 7 } });
  });
  await tab.send("Page.bringToFront");
  await tab.run(async () => (await import("/page.js")).store.catchUp());
  await focus(tab, 0, note);
  await type(tab, ", and a letter");
  await leave(tab);
  await tab.until(isSaid, "Load the page again");
  for (const form of ["main form.add", "#new-list"]) {
    await tab.run(() => { document.querySelector("#said").textContent = ""; });
    await tab.run(fill, form, "Tea");
    await tab.until(isSaid, "Load the page again");
    assert.equal(await tab.run((form) => document.querySelector(form).elements.title.value, form), "Tea");
  }
  assert.deepEqual(await notes(tab), ["short, and a letter"]);
});

test("what is typed into an item that another device deletes stays, and can be copied (I3)", async (t) => {
  const { tab, phone, write } = await startTwo(t, "Milk", "Bread");
  await focus(tab, 0, ".title");
  await type(tab, ", half an hour of typing");
  await write((db) => db.delete("items", phone.item("Milk").id));
  await leave(tab);
  await tab.until(isSaid, "Somebody has deleted this item");
  assert.ok((await tab.run(titles)).includes("Milk, half an hour of typing"));
  // It goes when the list is shown again.
  await tab.run(() => { location.hash = ""; });
  await tab.until(() => !document.querySelector(".items"));
  await tab.run(() => document.querySelector("#lists a").click());
  await tab.until(() => document.querySelectorAll(".items li").length === 1);
  assert.deepEqual(await tab.run(titles), ["Bread"]);
});

test("what is typed into an item of a list that another device deletes stays, and can be copied (I3)", async (t) => {
  const { tab, phone, write } = await startTwo(t, "Milk", "Bread");
  await focus(tab, 0, ".title");
  await type(tab, ", half an hour of typing");
  await write((db) => db.delete("lists", phone.store.all("lists")[0].id));
  await leave(tab);
  await tab.until(isSaid, "Somebody has deleted this item");
  assert.deepEqual(await tab.run(titles), ["Milk, half an hour of typing"]);
  // It goes when the list is left.
  await tab.run(() => { location.hash = ""; });
  await tab.until(() => !document.querySelector(".items"));
  assert.match(await tab.run(() => document.querySelector("#main").textContent), /Make your first list/);
});

test("a title that another device has changed meanwhile is asked for (I3)", async (t) => {
  const { tab, phone, write } = await startTwo(t, "Milk");
  const id = phone.item("Milk").id;
  const answer = (text) => [...document.querySelectorAll("#dialog[open] button")].find((button) => button.textContent.startsWith(text))?.click() ?? null;
  await focus(tab, 0, ".title");
  await type(tab, " (2 l)");
  await write((db) => db.update("items", id, { title: "Oat milk" }));
  await leave(tab);
  await tab.until(() => document.querySelector("#dialog").open);
  assert.equal((await stored(tab, "Oat milk")).id, id);
  assert.deepEqual(await tab.run(titles), ["Milk (2 l)"]);
  await tab.run(answer, "Take");
  await tab.until(async () => (await import("/page.js")).store.all("items")[0].title === "Milk (2 l)");

  await sync(tab);
  await phone.sync();
  await focus(tab, 0, ".title");
  await type(tab, " of soy");
  await write((db) => db.update("items", id, { title: "Tea" }));
  await leave(tab);
  await tab.until(() => document.querySelector("#dialog").open);
  await tab.run(answer, "Keep");
  assert.deepEqual(await tab.run(titles), ["Tea"]);
});

test("a field keeps the focus when another device moves the items around it", async (t) => {
  const { tab, phone, write } = await startTwo(t, "Milk", "Bread", "Tea");
  await focus(tab, 1, note);
  await type(tab, "first half");
  await write((db) => db.move("items", [phone.item("Milk").id], "last"));
  await tab.until(() => document.querySelector(".items .title").value === "Bread");
  await type(tab, ", second half");
  await leave(tab);
  await tab.until(async () => (await import("/page.js")).store.all("items").some((item) => item.note === "first half, second half"));
  assert.deepEqual(await tab.run(titles), ["Bread", "Tea", "Milk"]);
});

test("the browser asks before it leaves a page with typed text, and a hidden page writes it (I3)", async (t) => {
  const { tab } = await startTwo(t, "Milk");
  await focus(tab, 0, ".title");
  // A key is what browsers take for an act of the person.
  for (const kind of ["keyDown", "keyUp"]) await tab.send("Input.dispatchKeyEvent", { type: kind, key: "a", code: "KeyA", text: kind === "keyDown" ? "a" : undefined });
  await type(tab, "nd tea");
  const asked = tab.event("Page.javascriptDialogOpening");
  tab.send("Page.reload").catch(() => {});
  assert.equal((await asked).type, "beforeunload");
  await tab.send("Page.handleJavaScriptDialog", { accept: false });
  assert.deepEqual(await tab.run(titles), ["Milkand tea"]);
  await tab.run(() => {
    Object.defineProperty(document, "visibilityState", { value: "hidden" });
    document.dispatchEvent(new Event("visibilitychange"));
  });
  await tab.until(async () => (await import("/page.js")).store.all("items")[0].title === "Milkand tea");
});

test("a note is written at each pause, and keeps the cursor when others write it, too (I2)", async (t) => {
  const { tab, phone, write } = await startTwo(t, "Milk");
  await focus(tab, 0, note);
  await type(tab, "first line\n");
  await tab.until(async () => (await import("/page.js")).store.all("items")[0].note === "first line\n");
  await sync(tab);
  await phone.sync();
  await tab.run(() => document.activeElement.setSelectionRange(5, 5));
  await write((db) => db.update("items", phone.item("Milk").id, { note: "first line\nof the phone" }));
  await tab.until(() => document.activeElement.value.endsWith("of the phone"));
  await type(tab, " short");
  await tab.until(async () => (await import("/page.js")).store.all("items")[0].note === "first short line\nof the phone");
});

test("a tag that has a comma stays whole while others are typed", async (t) => {
  const { tab, phone, write } = await startTwo(t, "Wine");
  await write((db) => db.update("items", phone.item("Wine").id, { tags: ["red, dry", "cellar"] }));
  await tab.until(() => document.querySelectorAll(".items .tags span").length === 2);
  await focus(tab, 0, "input[placeholder^=Tags]");
  await type(tab, ", new");
  await leave(tab);
  await tab.until(async () => (await import("/page.js")).store.all("items")[0].tags.includes("new"));
  assert.deepEqual((await stored(tab, "Wine")).tags, ["cellar", "new", "red, dry"]);
});

test("a list goes on when the item that is being dragged is deleted", async (t) => {
  const { tab, phone, write } = await startTwo(t, "Milk", "Bread");
  const { x, y } = await tab.run(() => {
    const { left, top } = document.querySelector(".handle").getBoundingClientRect();
    return { x: left + 10, y: top + 10 };
  });
  const mouse = (kind, y) => tab.send("Input.dispatchMouseEvent", { type: kind, x, y, button: "left", buttons: 1, clickCount: 1 });
  await mouse("mousePressed", y);
  await mouse("mouseMoved", y + 5);
  await write((db) => db.delete("items", phone.item("Milk").id));
  await mouse("mouseReleased", y + 5);
  await tab.run(fill, "main form.add", "Tea");
  await tab.until(() => document.querySelectorAll(".items li").length === 2);
  assert.deepEqual(await tab.run(titles), ["Bread", "Tea"]);
});
