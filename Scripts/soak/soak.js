// The endurance run. First the server is killed again and again; then one server lives on, whose memory and descriptors must stay flat. All the
// time devices edit, readers are slow, and streams are idle. At the end nothing that a device wrote may be missing anywhere.

import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Server } from "../../clients/js/test/server.js";
import { Faults } from "./faults.js";
import { Figures } from "./figures.js";
import { SwiftDevice, WebDevice } from "./devices.js";
import { IdleStreams, Provider, SlowReaders } from "./listeners.js";

const minutes = Number(process.env.MINUTES ?? 60);
const folder = process.env.SOAK_FOLDER;
const descriptors = Number(execFileSync("sh", ["-c", "ulimit -n"], { encoding: "utf8" })) || 1024;
const streamCount = Math.min(Number(process.env.STREAMS ?? 5000), descriptors - 512);
/** The share of the time in which the server is killed. */
const killing = 0.4;

if (!(minutes >= 2 && minutes <= 1440)) throw new Error("MINUTES takes minutes from 2 to 1440.");

const problems = [];
const report = (problem) => {
  problems.push(problem);
  console.log(`PROBLEM: ${problem}`);
};

const provider = new Provider(join(folder, "keys.json"));
const server = new Server({
  data: join(folder, "server"), more: [...provider.options, "--slow", "none", "--log-level", "warning"],
});
const faults = new Faults(server, join(folder, "server"), report);
await faults.start();

console.log(`${minutes} minutes, ${streamCount} idle streams. The first part has kills, the second none.`);
const phone = new SwiftDevice("phone", folder, server);
const laptop = new SwiftDevice("laptop", folder, server);
const tablet = new SwiftDevice("tablet", folder, server);
await phone.run("sign-up", "ann");
await laptop.run("sign-in", "ann");
await tablet.run("sign-up", "bob");
await phone.run("new", "Soak");
await phone.run("sync");
await phone.run("share", "Soak", "bob");
await phone.run("sync");
const invitation = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(await tablet.run("invitations", "--json"))[0];
await tablet.run("accept", invitation);
for (const device of [phone, tablet, laptop]) await device.run("sync");
const web = [];
for (const [name, user] of [["browser", "ann"], ["kiosk", "bob"], ["tab", "bob"]]) {
  web.push(await WebDevice.signIn(name, user, server));
}
const devices = [phone, laptop, tablet, ...web];

const streams = new IdleStreams(server, provider, streamCount);
const readers = new SlowReaders(server, await web[0].token(), 8);
await streams.signIn();
await streams.open();

const start = Date.now();
const end = start + minutes * 60_000;
const isOver = () => Date.now() >= end;
const figures = new Figures(server, { streams, devices, faults, minutes });

const work = [
  ...devices.map((device) => device.live(isOver, report)), streams.live(isOver), readers.live(isOver),
  figures.live(isOver),
];
await faults.live({ isOver, lastKill: start + (end - start) * killing, calm: () => figures.begin() });
await Promise.all(work);
streams.close();
readers.close();

console.log("All is good again: devices sync until nothing waits.");
for (let round = 0; round < 60; round++) {
  for (const device of devices) await device.sync();
  if (devices.every((device) => device.waiting() === 0)) break;
  await sleep(1000);
}
for (const device of devices) await device.sync();

const expected = devices.flatMap((device) => [...device.titles]).sort();
const order = devices[0].listed();
for (const device of devices) {
  const [listed, known] = [device.listed(), new Set(device.listed())];
  const missing = expected.filter((title) => !known.has(title));
  if (device.waiting() > 0) report(`${device.name} has ${device.waiting()} edits that did not arrive`);
  if (missing.length > 0) report(`${device.name} lacks ${missing.length} items, such as ${missing[0]}`);
  if (listed.length !== expected.length) report(`${device.name} has ${listed.length} items of ${expected.length}`);
  if (listed.join("\n") !== order.join("\n")) report(`${device.name} differs from ${devices[0].name}`);
}
const doctor = await faults.doctor();
if (doctor) report(`holdfast doctor: ${doctor}`);
for (const problem of figures.verdict()) report(problem);
await faults.stop();

const edits = devices.reduce((sum, device) => sum + device.edits, 0);
console.log(`${edits} edits, ${faults.summary}. ${expected.length} items on ${devices.length} devices.`);
console.log(problems.length === 0 ? "Nothing is lost, and all agree." : `${problems.length} problems.`);
process.exit(problems.length === 0 ? 0 : 1);
