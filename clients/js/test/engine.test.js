// The engine: started, stopped and asked to sync in any order, beside listeners that throw.

import assert from "node:assert/strict";
import { test } from "node:test";
import { FetchTransport, MemoryStorage, SyncEngine } from "../index.js";
import { Device } from "./devices.js";
import { atEnd, password, Server } from "./server.js";

async function until(condition) {
  while (!condition()) await new Promise((resolve) => { setTimeout(resolve, 5); });
}

/** Holds the first requests of a device. @returns functions, each of which lets one through. */
function holdRequests(device, count) {
  const { transport } = device.engine;
  const held = [];
  device.engine.transport = {
    request: async (request) => {
      if (held.length < count) await new Promise((resolve) => { held.push(resolve); });
      return transport.request(request);
    },
  };
  return held;
}

/** A device that a test ends. */
async function signUp(t) {
  const server = await Server.start(t);
  const device = await Device.signUp("ada", { server });
  atEnd(t, () => device.engine.stop());
  return { server, device };
}

test("an engine that is started while it syncs by hand goes on by itself (I3)", async (t) => {
  const { server, device } = await signUp(t);
  const { engine, store } = device;
  const first = engine.sync();
  engine.start();
  await first;
  await device.makeList("By itself");
  await until(() => store.waitingOperations === 0);

  // Without a network: what is tried by hand fails, and the engine tries again.
  engine.stop();
  await server.kill();
  const failing = engine.sync();
  engine.start();
  await assert.rejects(failing, { code: "offline" });
  await device.makeList("Later");
  await server.start();
  await until(() => store.waitingOperations === 0);
});

test("an engine that was stopped takes no answer of before for one of now (I3)", async (t) => {
  const { device } = await signUp(t);
  const { engine, store } = device;
  const held = holdRequests(device, 2);
  const first = engine.sync();
  await until(() => held.length === 1);
  engine.stop();
  await assert.rejects(first, { code: "offline" });
  engine.start();
  await until(() => held.length === 2);
  held[0]();
  await until(() => store.zones().length > 0);
  await store.catchUp();
  // The second one is under way.
  assert.equal(engine.status.state, "syncing");
  held[1]();
  await until(() => engine.status.state === "idle");
  await device.makeList("Groceries");
  await until(() => store.waitingOperations === 0);
});

test("a stream that goes on saying that zones have changed has the engine ask a few times, and then seldom", async (t) => {
  const server = await Server.start(t);
  const device = await Device.signUp("ada", { server });
  await device.sync();
  const { store } = device;
  const transport = new FetchTransport(server.address);
  const waits = [];
  let [requests, onText] = [0];
  const engine = new SyncEngine({
    store, transport: {
      request: (request) => {
        requests += 1;
        return transport.request(request);
      },
      stream: (stream) => {
        ({ onText } = stream);
        return new Promise(() => {});
      },
    },
    timers: { setTimeout: (body, after) => { waits.push(after); }, clearTimeout: () => {} },
  });
  atEnd(t, () => engine.stop());
  engine.start();
  await until(() => engine.status.state === "idle" && onText);
  onText('event: hello\ndata: {"missed":false}\n\n');
  for (let count = 0; count < 50; count++) {
    waits.length = 0;
    onText('event: zones\ndata: {"zones":[]}\n\n');
    await until(() => engine.status.state === "idle");
  }
  assert.equal(requests, 11);
  // The silence of the stream is what else there is to wait for.
  assert.deepEqual(waits, [50_000]);
});

test("a sync that a listener asks for when one has ended ends too", async (t) => {
  const { device } = await signUp(t);
  let second;
  const end = device.engine.onStatus(({ state }) => {
    if (state === "idle" && device.store.zones().length > 0) second ??= device.engine.sync();
  });
  await device.sync();
  await second;
  end();
  assert.equal(device.engine.status.state, "idle");
});

/** Collects what is thrown as an uncaught error of the page. */
function catchUncaught(t) {
  const errors = [];
  const { queueMicrotask } = globalThis;
  t.mock.method(globalThis, "queueMicrotask", (body) => queueMicrotask(() => {
    try {
      body();
    } catch (error) {
      errors.push(error.message);
    }
  }));
  return errors;
}

const throws = (message) => () => { throw new Error(message); };

test("listeners that throw stop neither a sync nor a write, nor the listeners behind them (I3)", async (t) => {
  const errors = catchUncaught(t);
  const { device } = await signUp(t);
  const { engine, store } = device;
  const statuses = [];
  let isThrowing = false;
  engine.onStatus(({ state }) => { if (isThrowing) throw new Error(state); });
  engine.onStatus(({ state }) => statuses.push(state));
  store.observers.add((kind) => { if (isThrowing) throw new Error(kind); });
  isThrowing = true;
  const list = await device.makeList("Groceries");
  assert.equal(store.get("lists", list).title, "Groceries");
  await device.sync();
  assert.equal(store.waitingOperations, 0);
  assert.deepEqual([...new Set(statuses)], ["idle", "syncing"]);
  assert.deepEqual([...new Set(errors)].sort(), ["committed", "idle", "syncing", "written"]);
});

test("a listener that another one ends is not called any more", async (t) => {
  const { device: { store, engine } } = await signUp(t);
  for (const begin of [(listener) => store.live((db) => db.all("lists").length, listener), (listener) => engine.onStatus(listener)]) {
    let [calls, end] = [0, () => {}];
    const endFirst = begin(() => end());
    end = begin(() => { calls += 1; });
    await store.write((db) => db.insert("lists", { title: "Groceries" }));
    await engine.sync();
    assert.equal(calls, 1);
    endFirst();
  }
});

test("a tab whose session another tab ends has no stream of events any more (I10)", async (t) => {
  const server = await Server.start(t);
  const storage = new MemoryStorage();
  const device = await Device.signUp("ada", { server, storage });
  const signals = [];
  const engine = new SyncEngine({
    store: device.store, transport: {
      request: (request) => device.engine.transport.request(request),
      stream: ({ signal }) => {
        signals.push(signal);
        return new Promise(() => {});
      },
    },
  });
  atEnd(t, () => engine.stop());
  engine.start();
  await until(() => signals.length === 1);
  const other = await Device.open({ server, storage });
  await other.engine.signOut();
  await device.store.catchUp();
  assert.equal(signals[0].aborted, true);
  // Nor when the server has ended it.
  await engine.signIn("ada", password);
  await until(() => signals.length === 2);
  const phone = await Device.signIn("ada", { server });
  await phone.engine.request("DELETE", `v1/devices/${device.store.account.device}`);
  await assert.rejects(engine.sync(), { code: "signed-out" });
  assert.deepEqual([signals.length, signals[1].aborted], [2, true]);
});

test("a listener that throws when it is added is not added", async (t) => {
  const errors = catchUncaught(t);
  const { device } = await signUp(t);
  assert.throws(() => device.store.live(throws("read"), () => {}), { message: "read" });
  assert.throws(() => device.store.live(() => 1, throws("result")), { message: "result" });
  assert.throws(() => device.engine.onStatus(throws("status")), { message: "status" });
  await device.makeList("Groceries");
  await device.sync();
  assert.deepEqual(errors, []);
});

test("a 401 that is not the server's ends no session, and a large request that is lost is sent in parts (I3)", async (t) => {
  const { device } = await signUp(t);
  const { engine, store } = device;
  for (let count = 0; count < 20; count++) await device.makeList("x".repeat(200), ...Array.from({ length: 20 }, (_, item) => `item ${item} ${"y".repeat(100)}`));
  const { transport } = engine;
  const sizes = [];
  const answers = [{ status: 401, body: "<html>sign in to the hotel's network</html>" }, { status: 401, body: "" }, new Error("cut"), { status: 408, body: "" }];
  engine.transport = {
    request: async (request) => {
      const answer = answers.shift();
      if (answer) sizes.push(request.body.length);
      if (answer instanceof Error) throw answer;
      return answer ?? transport.request(request);
    },
  };
  for (let count = 0; count < 4; count++) {
    await assert.rejects(engine.sync(), { code: "offline" });
    assert.equal(store.account.isSignedIn, true);
  }
  assert.equal(sizes[2], sizes[1]);
  assert.ok(sizes[3] < sizes[2] * 0.6, `${sizes}`);
  await engine.sync();
  assert.equal(store.waitingOperations, 0);
});
