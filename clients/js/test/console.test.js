// The operators' console in a real browser.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { openBrowser } from "./chromium.js";
import { Device } from "./devices.js";
import { folder, Server } from "./server.js";

const token = "an operator's token of 32 bytes or more";
const actor = "ada-has-a-token-of-32-bytes-or-more-too";

async function start(t) {
  const path = folder(t);
  writeFileSync(join(path, "token"), `${token}\n`);
  writeFileSync(join(path, "actors"), `ada ${actor}\n`);
  const server = await Server.start(t, { more: ["--console", join(path, "token"), "--console-actions", join(path, "actors"), "--node", "one"] });
  const browser = await openBrowser(t);
  return { path, server, tab: await browser.open(`${server.address}/console/`) };
}

async function signIn(tab, text) {
  await tab.until(() => !document.querySelector("#sign-in").hidden && document.activeElement.id === "token");
  // As a person does: typed into the field that has the focus, then Enter.
  await tab.send("Input.insertText", { text });
  for (const type of ["keyDown", "keyUp"]) await tab.send("Input.dispatchKeyEvent", { type, key: "Enter", code: "Enter", windowsVirtualKeyCode: 13, text: "\r" });
}

const title = (text) => document.querySelector("#view h1")?.textContent === text && document.querySelector("#status").textContent === "";
const cells = (caption) => [...document.querySelectorAll("table")].find((table) => table.caption.textContent === caption)?.querySelectorAll("tbody tr").values()
  .map((row) => [...row.cells].map((cell) => cell.textContent)).toArray();
const fill = (values) => {
  const form = document.querySelector("#view form");
  for (const [name, value] of Object.entries(values)) form.elements[name].value = value;
  form.requestSubmit();
};

test("an operator finds a lagging device, and why a phone does not show a record", async (t) => {
  const { server, tab } = await start(t);
  const laptop = await Device.signUp("ada", { server });
  const phone = await Device.signIn("ada", { server });
  const list = await laptop.makeList("Groceries", "Milk");
  await laptop.sync();
  await phone.sync();
  await phone.sync();
  // The phone is in a pocket from now on.
  await laptop.write((db) => db.update("lists", list, { title: "Food" }));
  await laptop.sync();
  await laptop.sync();

  await signIn(tab, "a wrong token");
  await tab.until(() => /not the console's token/.test(document.querySelector("#status").textContent));
  assert.equal(await tab.run(() => document.querySelector("header nav").hidden), true);
  await signIn(tab, token);
  await tab.until(title, "Server");
  // The focus is at the title, and scripts do not see the session.
  assert.equal(await tab.run(() => document.activeElement.tagName), "H1");
  assert.equal(await tab.run(() => document.cookie), "");

  await tab.run(() => document.querySelector("nav a[href='#/devices']").click());
  await tab.until(title, "Devices");
  const devices = await tab.run(cells, "Devices");
  assert.deepEqual(devices.map(([name, user, session, , , , behind]) => [name, user, session, behind]),
    [["first", "ada", "signed in", "0"], ["second", "ada", "signed in", "1"]]);

  await tab.run(() => [...document.querySelectorAll("td a")].find((link) => link.textContent === "second").click());
  await tab.until(title, "Device second");
  const zone = (await tab.run(cells, "Zones of the device and its user")).find(([name]) => name === list);
  assert.equal(zone[2], "behind");

  await tab.run(() => [...document.querySelectorAll("main a")].find((link) => link.textContent.startsWith("Why does")).click());
  await tab.until(title, "Records");
  await tab.run(fill, { id: list });
  await tab.until(() => document.querySelector("#answer"));
  assert.match(await tab.run(() => document.querySelector("#answer").textContent), /it lacks it until it syncs; it was last seen/);
  assert.equal((await tab.run(cells, "Who changed it last"))[0][1], "changed title");

  // It syncs, and the console sees it.
  await phone.sync();
  await phone.sync();
  await tab.run(() => document.querySelector("#refresh").click());
  await tab.until(() => /it has the record, so look in its app/.test(document.querySelector("#answer")?.textContent));

  await tab.run(() => document.querySelector("#sign-out").click());
  await tab.until(() => !document.querySelector("#sign-in").hidden);
  assert.equal(await tab.run(async () => (await fetch("api/users", { headers: { "Holdfast-Session": "console" } })).status), 401);
});

test("what users write is text in the console, and never markup (I10)", async (t) => {
  const { server, tab } = await start(t);
  const markup = "<img src=x onerror=globalThis.broken=1>";
  const reversed = "\u202e";
  const laptop = await Device.open({ server });
  await laptop.engine.signUp("ada", "correct-horse", markup + reversed);
  await signIn(tab, token);
  await tab.until(title, "Server");
  await tab.run(() => { location.hash = "#/devices"; });
  await tab.until(title, "Devices");
  assert.equal((await tab.run(cells, "Devices"))[0][0], `${markup}‹U+202E›`);
  assert.equal(await tab.run(() => document.querySelectorAll("main img, main script").length), 0);
  assert.equal(await tab.run(() => globalThis.broken === undefined), true);
});

test("the page of the console runs no script that is not a file of its server, and talks to no other (I10)", async (t) => {
  const { tab } = await start(t);
  await signIn(tab, token);
  await tab.until(title, "Server");
  await tab.run(() => {
    globalThis.violations = [];
    addEventListener("securitypolicyviolation", ({ effectiveDirective }) => violations.push(effectiveDirective));
    for (const properties of [{ textContent: "globalThis.broken = 1" }, { src: "data:text/javascript,globalThis.broken=1" }, { src: "https://example.invalid/x.js" }]) {
      document.body.append(Object.assign(document.createElement("script"), properties));
    }
    document.body.insertAdjacentHTML("beforeend", "<img src=x onerror='globalThis.broken = 1'><p style='color: red'></p><iframe src='https://example.invalid/'></iframe>");
    fetch("https://example.invalid/").catch(() => {});
  });
  await tab.until(() => violations.length === 7);
  assert.deepEqual(await tab.run(() => violations.sort()),
    ["connect-src", "frame-src", "script-src-attr", "script-src-elem", "script-src-elem", "script-src-elem", "style-src-attr"]);
  assert.equal(await tab.run(() => globalThis.broken === undefined), true);
});

test("every control and table of the console has a name, and the title gets the focus", async (t) => {
  const { server, tab } = await start(t);
  const laptop = await Device.signUp("ada", { server });
  await laptop.makeList("Groceries", "Milk");
  await laptop.sync();
  await signIn(tab, token);
  await tab.until(title, "Server");
  for (const [view, heading] of Object.entries({ server: "Server", log: "Log", users: "Users", devices: "Devices", zones: "Zones", records: "Records", conflicts: "Conflicts", refusals: "Refusals", recovery: "Recovery", charts: "Charts", schema: "Schema", retention: "Retention", backups: "Backups", doctor: "Doctor", audit: "Audit log" })) {
    await tab.run((view) => { location.hash = `#/${view}`; }, view);
    await tab.until(title, heading);
    assert.deepEqual(await tab.run(() => ({
      headings: document.querySelectorAll("#view h1").length,
      unlabelled: [...document.querySelectorAll("input, textarea, button, a")].filter((control) => !(control.labels?.length || control.textContent.trim())).length,
      captions: [...document.querySelectorAll("table")].every((table) => table.caption?.textContent),
      scopes: [...document.querySelectorAll("th")].every((head) => head.scope),
      current: document.querySelector("nav [aria-current=page]").textContent,
      // Each chart has a name, and its figures in a table.
      charts: [...document.querySelectorAll("svg.chart")].filter((chart) => !(chart.getAttribute("aria-label") && chart.closest("section").querySelector("details table"))).length,
    })), { headings: 1, unlabelled: 0, captions: true, scopes: true, current: heading, charts: 0 });
  }
});

test("an operator with a token of their own signs a device out, after typing it, and the audit log says so (I10)", async (t) => {
  const { server, tab } = await start(t);
  const phone = await Device.signUp("ada", { server });
  await phone.makeList("Groceries", "Milk");
  await phone.sync();
  await signIn(tab, actor);
  await tab.until(title, "Server");
  const id = await tab.run(async () => (await (await fetch("api/devices", { headers: { "Holdfast-Session": "console" } })).json()).devices[0].id);
  await tab.run((id) => { location.hash = `#/devices/${id}`; }, id);
  await tab.until(title, "Device first");
  await tab.run(() => [...document.querySelectorAll("main button")].find((button) => button.textContent === "Sign out").click());
  // Not before it is typed, and Escape leaves all as it was.
  assert.equal(await tab.run(() => document.querySelector("dialog button[disabled]").textContent), "Sign out");
  await tab.send("Input.dispatchKeyEvent", { type: "keyDown", key: "Escape", code: "Escape", windowsVirtualKeyCode: 27 });
  await tab.until(() => !document.querySelector("dialog"));
  await phone.sync();
  await tab.run(() => [...document.querySelectorAll("main button")].find((button) => button.textContent === "Sign out").click());
  await tab.send("Input.insertText", { text: "sign out" });
  for (const type of ["keyDown", "keyUp"]) await tab.send("Input.dispatchKeyEvent", { type, key: "Enter", code: "Enter", windowsVirtualKeyCode: 13, text: "\r" });
  await tab.until(() => /The device is signed out/.test(document.querySelector("#status").textContent));
  await assert.rejects(phone.sync(), /Nobody is signed in/);
  await tab.run(() => { location.hash = "#/audit"; });
  await tab.until(title, "Audit log");
  assert.deepEqual((await tab.run(cells, "Actions of operators, the newest first")).map(([, action, target, , who, node]) => [action, target, who, node]), [["revoke", id, "ada", "one"]]);
  // Who signs in to read sees no way to act.
  await tab.run(() => document.querySelector("#sign-out").click());
  await signIn(tab, token);
  await tab.until(title, "Audit log");
  await tab.run((id) => { location.hash = `#/devices/${id}`; }, id);
  await tab.until(title, "Device first");
  assert.deepEqual(await tab.run(() => [...document.querySelectorAll("#view button")].map((button) => button.textContent)), []);
});

test("an operator whose line is taken out of the file is signed out by the restart, and gets no further (I10)", async (t) => {
  const { path, server, tab } = await start(t);
  await signIn(tab, actor);
  await tab.until(title, "Server");
  assert.equal(await tab.run(() => document.querySelector("#right").textContent), "Acting as ada");
  await server.kill();
  writeFileSync(join(path, "actors"), "bob bob-has-a-token-of-32-bytes-or-more-too\n");
  await server.start();
  await tab.run(() => document.querySelector("#refresh").click());
  await tab.until(() => /The session has ended/.test(document.querySelector("#status").textContent));
  assert.equal(await tab.run(() => document.querySelector("#view").childElementCount), 0);
  await signIn(tab, actor);
  await tab.until(() => /not the console's token/.test(document.querySelector("#status").textContent));
  await signIn(tab, token);
  await tab.until(title, "Server");
  assert.equal(await tab.run(() => document.querySelector("#right").textContent), "Read-only");
});

test("charts of other nodes show the last hour by minutes and the last month by six hours, each gap as a gap", async (t) => {
  const path = folder(t);
  writeFileSync(join(path, "token"), token);
  const server = await Server.start(t, { data: path, more: ["--console", join(path, "token"), "--node", "one"] });
  await server.kill();
  // Two stretches of each, of one request a second; the second one has a queue.
  const rows = [];
  for (const [node, span, step] of [["two", 60, 60], ["three", 3600, 21600]]) {
    const base = Math.floor(Date.now() / 1000 / step) * step;
    for (const [from, to, queue] of [[40, 20, 0], [10, 0, 7]]) {
      for (let at = base - from * step; at < base - to * step; at += span) {
        rows.push(`('${node}', ${span}, ${at}, '${JSON.stringify({ ok: span, request_seconds: span / 100, conflicts: 1, queue })}')`);
      }
    }
  }
  execFileSync("sqlite3", [join(path, "holdfast.db"), `INSERT INTO holdfast_samples VALUES ${rows.join(", ")}`]);
  await server.start();
  const browser = await openBrowser(t);
  const tab = await browser.open(`${server.address}/console/#/charts`);
  await signIn(tab, token);
  await tab.until(title, "Charts");
  const choose = async (text) => {
    await tab.run((text) => [...document.querySelectorAll(".choices a")].find((link) => link.textContent === text).click(), text);
    await tab.until((text) => [...document.querySelectorAll(".choices a[aria-current]")].some((link) => link.textContent === text) && document.querySelector("#status").textContent === "", text);
  };
  const shown = (name) => tab.run((name) => {
    const panel = [...document.querySelectorAll(".panel")].find((panel) => panel.querySelector("h2").textContent === name);
    const drawing = panel.querySelector("svg.chart");
    const rows = [...panel.querySelectorAll("tbody tr")].map((row) => [...row.cells].map((cell) => cell.textContent));
    const points = [...drawing.querySelectorAll("polyline.series-0")].map((line) => line.getAttribute("points").split(" ").map((point) => point.split(",").map(Number)));
    const levels = new Set(points.flat().map(([, y]) => y));
    return {
      lengths: points.map(({ length }) => length), levels: levels.size, dots: drawing.querySelectorAll(".dot").length, count: rows.length, newest: rows[0].slice(1),
      axis: [...drawing.querySelectorAll("text")].slice(0, 3).map((text) => text.textContent), label: drawing.getAttribute("aria-label"), time: rows[0][0],
      isInside: points.flat().every(([x, y]) => x >= 0 && x <= 640 && y >= 0 && y <= 190),
    };
  }, name);
  for (const [node, period, conflicts, point, time] of [["two", "Last hour", "1", "1 minute", /^\d\d:\d\d:00$/], ["three", "Last 31 days", "6", "6 hours", /^\d{4}-\d\d-\d\d \d\d:00$/]]) {
    await choose(node);
    await choose(period);
    const requests = await shown("Requests a second, by status");
    assert.deepEqual({ ...requests, label: undefined, time: undefined }, {
      lengths: [20, 10], levels: 1, dots: 0, count: 30, newest: ["1", "0", "0", "0"], axis: ["0", "0.50", "1"], isInside: true, label: undefined, time: undefined,
    }, period);
    assert.match(requests.time, time);
    assert.match(requests.label, /^Requests a second, by status, .* to .* UTC; greatest value 1\. The table below has the figures\.$/);
    const queue = await shown("Waiting jobs of all queues");
    assert.deepEqual([queue.newest, queue.axis, queue.levels], [["7"], ["0", "5", "10"], 2]);
    assert.deepEqual((await shown("Conflicts and refused change sets")).newest, [conflicts, "0"]);
    assert.deepEqual((await shown("Time of a request")).newest[0], "10 ms");
    assert.match(await tab.run(() => document.querySelector("#view").textContent), new RegExp(`Figures of the node ${node}; a point is ${point}\\.`));
  }
});
