// Jot on the web, for tests: a page of it, and what a person does there.

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { openBrowser } from "./chromium.js";
import { folder, password, Server } from "./server.js";

export const web = fileURLToPath(new URL("../../../Examples/JotWeb", import.meta.url));

/** @param files the folder of the page. @param more arguments of `holdfast serve`. */
export async function start(t, files = web, more = []) {
  const server = await Server.start(t, { more: ["--web", files, ...more] });
  const browser = await openBrowser(t);
  const tab = await browser.open(`${server.address}/`);
  await signUp(tab, "ada");
  return { server, browser, tab };
}

export async function signUp(tab, name) {
  await tab.until(() => document.querySelector("#welcome form"));
  await tab.run((name, password) => {
    const { elements } = document.querySelector("#welcome form");
    elements.name.value = name;
    elements.password.value = password;
    document.querySelector("#welcome button[value=new]").click();
  }, name, password);
  await tab.until(() => document.querySelector("#welcome").hidden);
}

export const fill = (selector, text) => {
  const form = document.querySelector(selector);
  form.elements.title.value = text;
  form.requestSubmit();
};
export const titles = () => [...document.querySelectorAll(".items .title")].map((field) => field.value);

export async function makeList(tab, title, ...items) {
  await tab.run(fill, "#new-list", title);
  await tab.until((title) => document.querySelector("main h2")?.textContent === title, title);
  for (const [index, item] of items.entries()) {
    await tab.run(fill, "main form.add", item);
    await tab.until((count) => document.querySelectorAll(".items li").length === count, index + 1);
  }
}

export async function press(tab, key, code) {
  for (const type of ["keyDown", "keyUp"]) await tab.send("Input.dispatchKeyEvent", { type, key, code: key, windowsVirtualKeyCode: code });
}

function setNetwork(tab, offline) {
  return tab.send("Network.emulateNetworkConditions", { offline, latency: 0, downloadThroughput: -1, uploadThroughput: -1 });
}

/** Returns when the page knows that it has no network: Chromium lets through what was sent before. */
export async function loseNetwork(tab) {
  await tab.send("Network.enable", {});
  await setNetwork(tab, true);
  const code = await tab.run(async () => (await import("/page.js")).tabs.sync().then(() => "synced", (error) => error.code));
  assert.equal(code, "offline");
}

export async function regainNetwork(tab) {
  await setNetwork(tab, false);
  await tab.run(() => dispatchEvent(new Event("online")));
}

export const sync = (tab) => tab.run(async () => (await import("/page.js")).tabs.sync());

/** What the page has stored of an item. */
export const stored = (tab, title) => tab.run(async (title) => (await import("/page.js")).store.all("items").find((item) => item.title === title), title);

/** Focuses a field of the row at a place, at the end of its text. */
export function focus(tab, place, selector) {
  return tab.run((place, selector) => {
    const row = document.querySelectorAll(".items li")[place];
    if (row.querySelector(".details").hidden) row.querySelector(".more").click();
    const field = row.querySelector(selector);
    field.focus();
    field.setSelectionRange(field.value.length, field.value.length);
  }, place, selector);
}

/** Types as a keyboard does. */
export const type = (tab, text) => tab.send("Input.insertText", { text });

export const leave = (tab) => tab.run(() => document.activeElement.blur());
