// The states of the engine and of its event stream, row by row: docs/PROTOCOL.md, sections 6.2 and 6.5.

import assert from "node:assert/strict";
import { test } from "node:test";
import { EventParser } from "../src/event-parser.js";
import { RequestSize } from "../src/request-size.js";
import { EventStreamMachine, SyncMachine } from "../src/sync-machine.js";

const half = () => 0.5;
const send = { type: "send", limit: 500 };
const stopTimer = { type: "stopTimer" };
const schedule = (after) => ({ type: "schedule", after });
const answered = (more = {}) => ({ type: "answered", hasMore: false, wait: null, items: 0, ...more });
const later = { kind: "later", reason: "offline" };

/** Runs events through a machine. @returns the actions of the last. */
function run(machine, ...events) {
  return events.map((event) => machine.handle(typeof event === "string" ? { type: event } : event)).at(-1);
}

test("the engine syncs at launch, after edits and when it is told of changes", () => {
  const machine = new SyncMachine(true, half);
  assert.deepEqual(run(machine, "launched"), [stopTimer, send]);
  assert.deepEqual(run(machine, answered()), [schedule(60_000), { type: "finish", failure: null }]);
  assert.deepEqual(run(machine, "edited"), [schedule(250)]);
  assert.deepEqual(run(machine, "edited"), []);
  assert.deepEqual(run(machine, "timer"), [stopTimer, send]);
  // What comes while it syncs is not forgotten.
  assert.deepEqual(run(machine, "edited", answered()), [stopTimer, send]);
  assert.deepEqual(run(machine, answered(), "pushed"), [stopTimer, send]);
  assert.deepEqual(run(machine, answered({ hasMore: true })), [stopTimer, send]);
});

test("a failure is tried again later and later, and drops nothing (I3)", () => {
  const machine = new SyncMachine(true, half);
  run(machine, "launched");
  const waits = [];
  for (let count = 0; count < 12; count++) {
    waits.push(run(machine, { type: "failed", failure: later })[0].after);
    assert.deepEqual(run(machine, "edited"), []);
    assert.deepEqual(run(machine, "timer"), [stopTimer, send]);
  }
  assert.deepEqual(waits.slice(0, 4), [500, 1000, 2000, 4000]);
  assert.equal(waits.at(-1), 150_000);
  assert.deepEqual(run(machine, { type: "failed", failure: { ...later, retryAfter: 900 } })[0], schedule(900_000));
  // No answer keeps a device away for longer than an hour.
  run(machine, "timer");
  assert.deepEqual(run(machine, { type: "failed", failure: { ...later, retryAfter: 90_000 } })[0], schedule(3_600_000));
});

test("without an answer a device waits for a minute at most, and starts its back-off again when the network is there", () => {
  const machine = new SyncMachine(true, half);
  const fail = () => run(machine, { type: "failed", failure: { kind: "unreachable", reason: "offline" } })[0];
  run(machine, "launched");
  for (let count = 0; count < 12; count++) {
    fail();
    run(machine, "timer");
  }
  assert.deepEqual(fail(), schedule(30_000));
  assert.deepEqual(run(machine, "reachable"), [stopTimer, send]);
  assert.deepEqual(fail(), schedule(500));
});

test("a server that said when to come back is not asked before, whatever the network does", () => {
  const machine = new SyncMachine(true, half);
  run(machine, "launched", { type: "failed", failure: { ...later, retryAfter: 900 } });
  assert.deepEqual(run(machine, "reachable"), []);
  assert.deepEqual(run(machine, "edited"), []);
  // But for a person who asks for it.
  assert.deepEqual(run(machine, "syncNow"), [stopTimer, send]);
  run(machine, { type: "failed", failure: { ...later, retryAfter: 0 } });
  assert.deepEqual(run(machine, "reachable"), [stopTimer, send]);

  const stream = new EventStreamMachine(half);
  run(stream, "start", { type: "ended", retryAfter: 900 });
  assert.deepEqual(run(stream, "reachable"), []);
  assert.deepEqual(run(stream, "timer"), [{ type: "open" }, schedule(30_000)]);
  assert.deepEqual(run(stream, { type: "ended", retryAfter: 90_000 }), [schedule(3_600_000)]);
  run(stream, "timer", { type: "ended" });
  assert.deepEqual(run(stream, "reachable"), [{ type: "open" }, schedule(30_000)]);
});

test("after twenty answers that want more and bring nothing, each further one is a failure, until one brings something (I3)", () => {
  const machine = new SyncMachine(true, half);
  const barren = answered({ hasMore: true });
  const failed = (after) => [schedule(after), { type: "finish", failure: { kind: "later", reason: "The server's answers bring nothing new." } }];
  run(machine, "launched");
  for (let count = 0; count < 20; count++) assert.deepEqual(run(machine, barren), [stopTimer, send]);
  // Also where the app asks for more meanwhile.
  assert.deepEqual(run(machine, "syncNow", answered()), failed(500));
  assert.deepEqual(run(machine, "timer", barren), failed(1000));
  assert.deepEqual(run(machine, "timer", barren), failed(2000));
  // One that is substantial.
  assert.deepEqual(run(machine, "timer", answered({ hasMore: true, isSubstantial: true })), [stopTimer, send]);
  for (let count = 0; count < 20; count++) assert.deepEqual(run(machine, barren), [stopTimer, send]);
  assert.deepEqual(run(machine, barren), failed(500));
  // An answer with which nothing is left.
  assert.equal(run(machine, "timer", answered())[1].failure, null);
  run(machine, "timer");
  for (let count = 0; count < 20; count++) assert.deepEqual(run(machine, barren), [stopTimer, send]);
  assert.deepEqual(run(machine, barren), failed(500));
});

test("after ten pushes that announce nothing the next ones wait, each time longer, and an edit does not", () => {
  const machine = new SyncMachine(true, half);
  run(machine, "launched", answered());
  for (let count = 0; count < 5; count++) {
    assert.deepEqual(run(machine, "pushed"), [stopTimer, send]);
    // One that comes meanwhile.
    assert.deepEqual(run(machine, "pushed", answered()), [stopTimer, send]);
    run(machine, answered());
  }
  const waits = [];
  for (let count = 0; count < 8; count++) {
    waits.push(run(machine, "pushed")[0].after);
    assert.deepEqual(run(machine, "pushed"), []);
    assert.deepEqual(run(machine, "timer"), [stopTimer, send]);
    assert.deepEqual(run(machine, answered())[1].failure, null);
  }
  assert.deepEqual(waits, [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  run(machine, "pushed");
  assert.deepEqual(run(machine, "edited"), [schedule(250)]);
  run(machine, "timer", "pushed");
  assert.deepEqual(run(machine, answered()), [schedule(30_000), { type: "finish", failure: null }]);
  // A sync that brings something.
  run(machine, "timer", answered({ hasNews: true }));
  assert.deepEqual(run(machine, "pushed"), [stopTimer, send]);
});

test("after 401 nothing is sent until somebody signs in (I3)", () => {
  const machine = new SyncMachine(true, half);
  assert.deepEqual(run(machine, "launched", { type: "failed", failure: { kind: "expired" } }), [stopTimer, { type: "finish", failure: { kind: "expired" } }]);
  for (const event of ["edited", "timer", "pushed", "reachable"]) assert.deepEqual(run(machine, event), []);
  assert.deepEqual(run(machine, "syncNow"), [{ type: "finish", failure: { kind: "expired" } }]);
  assert.deepEqual(run(machine, "signedIn"), [schedule(0)]);
});

test("a set goes to quarantine when two requests without it were accepted, and it was refused in the same words (I12)", () => {
  const machine = new SyncMachine(true, half);
  const refused = (items, reason = "bad") => ({ type: "failed", failure: { kind: "unacceptable", items, isTooLarge: false, reason } });
  run(machine, "launched");
  assert.deepEqual(run(machine, refused(8)), [{ type: "send", limit: 4 }]);
  assert.deepEqual(run(machine, refused(4)), [{ type: "send", limit: 2 }]);
  assert.deepEqual(run(machine, refused(2)), [{ type: "send", limit: 1 }]);
  assert.deepEqual(run(machine, refused(1)), [{ type: "send", limit: 0 }]);
  assert.deepEqual(run(machine, answered()), [{ type: "send", limit: 1 }]);
  assert.deepEqual(run(machine, refused(1)), [{ type: "send", limit: 0 }]);
  assert.deepEqual(run(machine, answered()), [{ type: "send", limit: 1 }]);
  assert.deepEqual(run(machine, refused(1)), [{ type: "quarantineOldest" }, send]);
  // A server that refuses everything: the next set needs eight proofs, each of which waits.
  assert.deepEqual(run(machine, refused(1)), [{ type: "send", limit: 0 }]);
  run(machine, answered());
  assert.equal(run(machine, refused(1))[0].type, "schedule");
  // A request without any set that is refused proves nothing.
  assert.deepEqual(run(machine, "timer"), [stopTimer, { type: "send", limit: 1 }]);
  run(machine, refused(1));
  assert.equal(run(machine, refused(0))[0].type, "schedule");
  assert.deepEqual(run(machine, "timer"), [stopTimer, { type: "send", limit: 1 }]);
});

test("the size of requests halves with each large one that gets no answer, and doubles after several that do (I3)", () => {
  const size = new RequestSize();
  size.lose(16 << 10);
  assert.equal(size.limit, 1 << 20);
  size.lose(600 << 10);
  assert.equal(size.limit, 300 << 10);
  for (let count = 0; count < 10; count++) size.lose(size.limit + 1000);
  assert.equal(size.limit, 16 << 10);
  // A small request says nothing.
  for (let count = 0; count < 100; count++) size.arrive(100);
  for (let count = 0; count < 3; count++) size.arrive(size.limit);
  assert.equal(size.limit, 16 << 10);
  size.arrive(size.limit);
  assert.equal(size.limit, 32 << 10);
  for (let count = 0; count < 100; count++) size.arrive(size.limit);
  assert.equal(size.limit, 1 << 20);
});

test("a copy asks for one new identity, and waits before it asks for another (I1)", () => {
  const machine = new SyncMachine(true, half);
  run(machine, "launched");
  assert.deepEqual(run(machine, { type: "failed", failure: { kind: "diverged" } }), [{ type: "identify" }]);
  assert.deepEqual(run(machine, "identified"), [stopTimer, send]);
  assert.equal(run(machine, { type: "failed", failure: { kind: "diverged" } })[0].type, "schedule");
});

test("with a stream of events the engine polls seldom, and without one soon", () => {
  const machine = new SyncMachine(true, half);
  run(machine, "launched", answered());
  assert.deepEqual(run(machine, { type: "attended", hasMissed: false }), [schedule(750_000)]);
  assert.deepEqual(run(machine, { type: "attended", hasMissed: true }), [stopTimer, send]);
  assert.deepEqual(run(machine, answered())[0], schedule(750_000));
  assert.deepEqual(run(machine, "unattended"), [schedule(30_000)]);
  run(machine, "timer");
  run(machine, { type: "failed", failure: later });
  assert.deepEqual(run(machine, { type: "attended", hasMissed: false }), [stopTimer, send]);
});

test("a silent, ended or replaced stream is opened again, each time later", () => {
  const machine = new EventStreamMachine(half);
  assert.deepEqual(run(machine, "start"), [{ type: "open" }, schedule(30_000)]);
  assert.deepEqual(run(machine, { type: "hello", heartbeat: 25_000, hasMissed: true }), [
    schedule(50_000), { type: "tell", event: { type: "attended", hasMissed: true } }]);
  assert.deepEqual(run(machine, "moved"), [schedule(50_000), { type: "tell", event: { type: "pushed" } }]);
  const unattended = { type: "tell", event: { type: "unattended" } };
  assert.deepEqual(run(machine, "timer"), [{ type: "close" }, schedule(1000), unattended]);
  assert.deepEqual(run(machine, "timer"), [{ type: "open" }, schedule(30_000)]);
  assert.deepEqual(run(machine, { type: "ended" }), [schedule(2000)]);
  run(machine, "reachable");
  assert.deepEqual(run(machine, { type: "ended", retryAfter: 60 }), [schedule(60_000)]);
  run(machine, "timer", { type: "hello", heartbeat: 1, hasMissed: false });
  assert.deepEqual(run(machine, "received"), [schedule(100)]);
  assert.deepEqual(run(machine, "replaced"), [{ type: "close" }, schedule(150_000), unattended]);
  assert.deepEqual(run(machine, "stop"), [stopTimer, { type: "close" }]);
  assert.deepEqual(run(machine, "timer"), []);
});

test("events are parsed however their bytes are cut", () => {
  const text = "retry: 2000\nid: a-1\nevent: hello\ndata: {\"missed\":false}\n\n: note\r\nid: a-2\r\n\r\ndata: one\ndata: two\n\nid: a\u0000b\n\n";
  for (let size = 1; size < text.length; size++) {
    const parser = new EventParser();
    const events = [];
    for (let start = 0; start < text.length; start += size) events.push(...parser.add(text.slice(start, start + size)));
    assert.deepEqual(events, [{ type: "hello", data: '{"missed":false}' }, { type: "message", data: "one\ntwo" }]);
    assert.deepEqual([parser.retry, parser.lastEventID], [2000, "a-2"]);
  }
  assert.throws(() => new EventParser().add("x".repeat(65_537)), RangeError);
});
