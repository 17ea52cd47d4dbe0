// Answers that are none: nothing of them is kept, and the next good one is applied.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Device, expectAgreement } from "./devices.js";
import { password, Server } from "./server.js";

const wrong = [undefined, null, 1.5, -1, "x", true, "yes", 7, [7], {}, [{}], [null], { x: 1 }, 2 ** 60, "0123456789ABCDEF"];

/** Values that a member may have by the protocol. */
const allowed = {
  clock: [], confirmed: [7], chain: [], refused: [], resend: [true], zones: [], lost: [], proof: [undefined, "x", "yes", "0123456789ABCDEF"],
  proofs: [undefined, {}], prove: [undefined], awaiting_recovery: [undefined], recovered: [undefined], schema: [undefined, "x", "yes", "0123456789ABCDEF"],
  renamed: [undefined, {}, { x: 1 }],
};
const allowedOfPart = {
  zone: ["x", "yes", "0123456789ABCDEF"], role: ["x", "yes", "0123456789ABCDEF"], from: ["x", "yes", "0123456789ABCDEF"],
  to: [], changes: [], more: [undefined, true], reset: [undefined, true], count: [undefined, 7], remaining: [undefined, 7],
};
const allowedOfChange = {
  table: ["x", "yes", "0123456789ABCDEF"], id: ["x", "yes", "0123456789ABCDEF"], rev: [7], deleted: [undefined, true], columns: [{}, { x: 1 }],
};

/** Makes the next answer with parts another one. */
function change(device, changed) {
  const { transport } = device.engine;
  device.engine.transport = {
    request: async (request) => {
      const answer = await transport.request(request);
      const form = JSON.parse(answer.body);
      if (request.path !== "v1/sync" || form.zones.length === 0) return answer;
      device.engine.transport = transport;
      changed(form);
      return { ...answer, body: JSON.stringify(form) };
    },
  };
}

test("an answer with a member of a wrong form changes nothing, and the next one does (I3)", async (t) => {
  const server = await Server.start(t);
  const phone = await Device.signUp("ada", { server });
  const laptop = await Device.signIn("ada", { server });
  const list = await laptop.makeList("0");
  await expectAgreement(laptop, phone);
  const lists = (part) => part.changes.find(({ table }) => table === "lists");
  const places = [
    [allowed, (answer) => answer], [allowedOfPart, ({ zones }) => zones[0]], [allowedOfChange, ({ zones }) => lists(zones[0])],
  ];
  let count = 0;
  for (const [members, place] of places) {
    for (const [name, allowed] of Object.entries(members)) {
      for (const value of wrong.filter((value) => !allowed.some((other) => JSON.stringify(other) === JSON.stringify(value)))) {
        count += 1;
        await laptop.write((db) => db.update("lists", list, { title: `${count}` }));
        await laptop.sync();
        if (count % 7 === 0) await phone.makeList(`${count}`);
        const before = new Map(phone.storage.entries);
        change(phone, (form) => { place(form)[name] = value; });
        await assert.rejects(phone.sync(), { code: "offline" }, `${name}: ${JSON.stringify(value)}`);
        assert.deepEqual(phone.storage.entries, before, `${name}: ${JSON.stringify(value)}`);
        await phone.sync();
        assert.equal(phone.store.get("lists", list).title, `${count}`);
      }
    }
  }
  await expectAgreement(laptop, phone);
});

/** What a device would send back with each request, in forms that no server gives. */
const unsendable = {
  "a proof of the device": (answer) => { answer.proof = "x".repeat(1001); },
  "a proof of a zone": (answer, zone) => { answer.proofs = { [zone]: "\u00e9".repeat(501) }; },
  "the zone of a proof": (answer) => { answer.proofs = { ["x".repeat(65)]: "x" }; },
  "a fingerprint of the schema": (answer) => { answer.schema = "x".repeat(65); },
  "a role": ({ zones: [part] }) => { part.role = "x".repeat(65); },
  "a zone": ({ zones: [part] }) => { part.zone = "x".repeat(65); },
  "a token": ({ zones: [part] }) => { part.to = `00000000.${"1".repeat(1000)}`; },
  "a token beyond all": ({ zones: [part] }) => { part.to = "00000000.9223372036854775808"; },
  "a token of a part with more": ({ zones: [part] }) => { [part.to, part.more] = ["x", true]; },
  "no token": ({ zones: [part] }) => { part.to = ""; },
};

test("an answer with a text that no server would take back changes nothing, and the next one does (I3, I11)", async (t) => {
  const server = await Server.start(t);
  const phone = await Device.signUp("ada", { server });
  const laptop = await Device.signIn("ada", { server });
  const list = await laptop.makeList("0");
  await expectAgreement(laptop, phone);
  for (const [what, spoil] of Object.entries(unsendable)) {
    await laptop.write((db) => db.update("lists", list, { title: what }));
    await laptop.sync();
    const before = new Map(phone.storage.entries);
    change(phone, (answer) => spoil(answer, list));
    await assert.rejects(phone.sync(), { code: "offline" }, what);
    assert.deepEqual(phone.storage.entries, before, what);
    await phone.sync();
    assert.equal(phone.store.get("lists", list).title, what);
  }
});

test("a store that has taken such a text is mended when it is opened (I3)", async (t) => {
  const server = await Server.start(t);
  const phone = await Device.signUp("ada", { server });
  const list = await phone.makeList("Groceries");
  await phone.sync();
  await phone.store.transact((draft) => {
    draft.device = { ...draft.device, proof: "x".repeat(5 << 20) };
    const zone = draft.get("zones", list);
    draft.put("zones", list, { ...zone, proof: "x".repeat(5000), ack: "x", token: "x", sent: false });
  });
  const reopened = await Device.open({ server, storage: phone.storage });
  assert.equal(reopened.engine.device.proof, "");
  assert.equal(reopened.store.reader().draft.get("zones", list).proof, "");
  await reopened.write((db) => db.update("lists", list, { title: "Food" }));
  await expectAgreement(reopened, await Device.signIn("ada", { server }));
});

test("a sign-in whose answer is no session changes nothing, and says so (I3)", async (t) => {
  const server = await Server.start(t);
  const phone = await Device.signUp("ada", { server });
  await phone.engine.signOut();
  const { transport } = phone.engine;
  const good = { user: { id: "x", name: "ada" }, device: { id: "x", name: "phone", session: 1 }, token: "x", token_id: "x" };
  const wrong = [
    { user: { id: 7, name: "ada" } }, { user: { id: "", name: "ada" } }, { user: { id: "x", name: "" } }, { user: { id: "x", name: "x".repeat(65) } },
    { device: { id: "", session: 1 } }, { device: { id: "x", session: "1" } },
    ...[undefined, "", "a\nb", "\u00e9", "x".repeat(4097)].map((token) => ({ token, token_id: token })),
  ];
  const bodies = ["", "[]", "{}", "<!DOCTYPE html><title>Wi-Fi</title>", ...wrong.map((members) => JSON.stringify({ ...good, ...members }))];
  const before = new Map(phone.storage.entries);
  for (const usesCookie of [false, true]) {
    phone.engine.usesCookie = usesCookie;
    for (const body of bodies) {
      phone.engine.transport = { request: async () => ({ status: 200, body, retryAfter: 0 }) };
      await assert.rejects(phone.engine.signIn("ada", password), { code: "offline", message: /^What answered may not be the server: / }, body);
      assert.deepEqual(phone.storage.entries, before, body);
    }
  }
  phone.engine.transport = transport;
  phone.engine.usesCookie = false;
  await phone.engine.signIn("ada", password);
  await phone.makeList("Groceries");
  await phone.sync();
});
