// The pages for everybody: each view of the console, and Jot.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { hasKeyboard, keepsRules } from "./accessibility.js";
import { openBrowser } from "./chromium.js";
import { Device } from "./devices.js";
import { folder, password, run, Server } from "./server.js";

const tokens = { reader: "an operator's token of 32 bytes or more", actor: "ada-has-a-token-of-32-bytes-or-more-too" };

/** A console with something in each view, and a page of it. */
async function startConsole(t) {
  const [files, data] = [folder(t), folder(t)];
  writeFileSync(join(files, "token"), tokens.reader);
  writeFileSync(join(files, "operators"), `ada ${tokens.actor}\n`);
  const more = ["--console", join(files, "token"), "--console-actions", join(files, "operators"), "--node", "one"];
  const server = await Server.start(t, { data, more });
  const laptop = await Device.signUp("ada", { server });
  const phone = await Device.signIn("ada", { server });
  const list = await laptop.makeList("Groceries", "Milk");
  for (const device of [laptop, phone, phone]) await device.sync();
  // Two words for one column, and an edit of what is gone.
  const item = laptop.item("Milk").id;
  await laptop.write((db) => db.update("items", item, { title: "Oat milk" }));
  await phone.write((db) => db.update("items", item, { title: "Whole milk" }));
  for (const device of [laptop, phone, laptop]) await device.sync();
  const [other] = await laptop.write((db) => [db.insert("lists", { title: "Gone" })]);
  for (const device of [laptop, phone]) await device.sync();
  await laptop.write((db) => db.delete("lists", other));
  await laptop.sync();
  await phone.write((db) => db.insert("items", { list_id: other, title: "Too late", position: db.positions("items", 1, "last", { parent: other })[0] }));
  await phone.sync();
  run("backup", join(files, "one.backup"), "--data", data);
  const browser = await openBrowser(t);
  return { list, phone: phone.store.account.device, tab: await browser.open(`${server.address}/console/`) };
}

const isShown = (title) => document.querySelector("#view h1")?.textContent.startsWith(title) && document.querySelector("#status").textContent === "";
const press = (text) => [...document.querySelectorAll("main button")].find((button) => button.textContent === text).click();

test("every view of the console keeps the rules of axe-core, and is used by the keyboard", async (t) => {
  const { list, phone, tab } = await startConsole(t);
  await tab.until(() => !document.querySelector("#sign-in").hidden && document.activeElement.id === "token");
  await keepsRules(tab, "Sign in");
  await hasKeyboard(tab, "Sign in");
  await tab.run((token) => {
    const form = document.querySelector("#sign-in");
    form.elements.token.value = token;
    form.requestSubmit();
  }, tokens.actor);
  await tab.until(isShown, "Server");
  const views = {
    server: "Server", charts: "Charts", log: "Log", users: "Users", devices: "Devices", [`devices/${phone}`]: "Device second", zones: "Zones",
    [`zones/${list}`]: "Zone", records: "Records", [`records/${list}?device=${phone}`]: "Records", conflicts: "Conflicts", refusals: "Refusals",
    recovery: "Recovery", schema: "Schema", retention: "Retention", backups: "Backups", doctor: "Doctor", audit: "Audit log",
  };
  for (const [place, title] of Object.entries(views)) {
    await tab.run((place) => { location.hash = `#/${place}`; }, place);
    await tab.until((hash, title) => location.hash === hash && document.querySelector("#view h1")?.textContent.startsWith(title) && document.querySelector("#status").textContent === "", `#/${place}`, title);
    await tab.run(() => { for (const details of document.querySelectorAll("details")) details.open = true; });
    await keepsRules(tab, place);
    await hasKeyboard(tab, place);
    assert.equal(await tab.run(() => document.title.startsWith(document.querySelector("#view h1").textContent)), true);
  }
});

test("what the console asks and answers keeps the rules too: a dialog, a comparison, the doctor, an error", async (t) => {
  const { phone, tab } = await startConsole(t);
  await tab.until(() => !document.querySelector("#sign-in").hidden);
  await tab.run((token) => {
    const form = document.querySelector("#sign-in");
    form.elements.token.value = token;
    form.requestSubmit();
  }, tokens.actor);
  await tab.until(isShown, "Server");
  await tab.run((phone) => { location.hash = `#/devices/${phone}`; }, phone);
  await tab.until(isShown, "Device second");
  await tab.run(press, "Sign out");
  await keepsRules(tab, "the dialog");
  // Tab stays in it, as it asks for a word, and Escape leaves it.
  for (let number = 0; number < 4; number++) {
    for (const type of ["keyDown", "keyUp"]) await tab.send("Input.dispatchKeyEvent", { type, key: "Tab", code: "Tab", windowsVirtualKeyCode: 9 });
    assert.equal(await tab.run(() => document.activeElement === document.body || document.querySelector("dialog").contains(document.activeElement)), true);
  }
  await tab.send("Input.dispatchKeyEvent", { type: "keyDown", key: "Escape", code: "Escape", windowsVirtualKeyCode: 27 });
  await tab.until(() => !document.querySelector("dialog"));

  await tab.run(() => { location.hash = "#/schema"; });
  await tab.until(isShown, "Schema");
  for (const [text, answer] of [["{}", ".failure"], ["{\"holdfast\": 1, \"name\": \"jot\", \"tables\": {}}", "pre[aria-label='What the change does'], .failure"]]) {
    await tab.run((text) => {
      document.querySelector("#new-schema").value = text;
      document.querySelector("form.paste").requestSubmit();
    }, text);
    // It is said, as it is in a live region.
    await tab.until((answer) => document.querySelector(`[aria-live=polite] :is(${answer})`), answer);
    await keepsRules(tab, "a comparison");
  }

  await tab.run(() => { location.hash = "#/doctor"; });
  await tab.until(isShown, "Doctor");
  await tab.run(press, "Run the doctor");
  await tab.until(() => document.querySelector("[role=status].answer")?.textContent === "All is well.");
  await keepsRules(tab, "the doctor");

  await tab.run(() => { location.hash = "#/devices/none"; });
  await tab.until(() => document.querySelector("#status.error"));
  await keepsRules(tab, "an error");
});

test("Jot keeps the rules of axe-core before and after the sign-in, and is used by the keyboard", async (t) => {
  const web = fileURLToPath(new URL("../../../Examples/JotWeb", import.meta.url));
  const server = await Server.start(t, { more: ["--web", web] });
  const browser = await openBrowser(t);
  const tab = await browser.open(`${server.address}/`);
  await tab.until(() => document.querySelector("#welcome form"));
  await keepsRules(tab, "the welcome");
  await hasKeyboard(tab, "the welcome");
  await tab.run((password) => {
    const { elements } = document.querySelector("#welcome form");
    [elements.name.value, elements.password.value] = ["ada", password];
    document.querySelector("#welcome button[value=new]").click();
  }, password);
  await tab.until(() => document.querySelector("#welcome").hidden);
  await tab.run(() => {
    const form = document.querySelector("#new-list");
    form.elements.title.value = "Groceries";
    form.requestSubmit();
  });
  await tab.until(() => document.querySelector("main h2")?.textContent === "Groceries");
  await tab.run(() => {
    const form = document.querySelector("main form.add");
    form.elements.title.value = "Milk";
    form.requestSubmit();
  });
  await tab.until(() => document.querySelectorAll(".items li").length === 1);
  await keepsRules(tab, "a list");
  await hasKeyboard(tab, "a list");
});
