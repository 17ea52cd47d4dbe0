// Sessions of another user than the one whose data a device has.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Device } from "./devices.js";
import { password, Server } from "./server.js";

const devicesOf = async (device) => (await device.engine.request("GET", "v1/devices")).devices;

test("a device with somebody's data makes no account and no session of another user", async (t) => {
  const server = await Server.start(t);
  const phone = await Device.signUp("ada", { server });
  const list = await phone.makeList("Groceries");
  await phone.engine.signOut();
  await assert.rejects(phone.engine.signUp("bob", password), RangeError);
  // A new account is another user, whatever its name.
  await assert.rejects(phone.engine.signUp("ada", password), RangeError);
  // The name is free still.
  const laptop = await Device.signUp("bob", { server });
  await assert.rejects(phone.engine.signIn("bob", password), RangeError);
  assert.equal((await devicesOf(laptop)).length, 1);
  await phone.engine.signIn("ada", password);
  await phone.sync();
  assert.equal(phone.store.get("lists", list).title, "Groceries");
  assert.equal((await devicesOf(phone)).length, 1);
});

for (const usesCookie of [false, true]) {
  test(`a session of another user, which only the server can tell, ends at once${usesCookie ? ", and its cookie with it" : ""} (I10)`, async (t) => {
    const server = await Server.start(t);
    const laptop = await Device.signUp("bob", { server });
    const phone = await Device.signUp("ada", { server });
    await phone.makeList("Groceries");
    await phone.sync();
    const { transport } = phone.engine;
    if (usesCookie) {
      // As in a browser, whose cookies scripts do not see.
      phone.engine.usesCookie = true;
      await phone.store.transact((draft) => { draft.device = { ...draft.device, token: null, cookie: "id" }; });
    }
    const ended = [];
    phone.engine.transport = {
      // An identity provider's token of Bob.
      request: async ({ session, ...request }) => {
        if (request.method === "DELETE") ended.push(session);
        const body = request.body?.includes('"jwt"') ? JSON.stringify({ name: "bob", password, device: { name: "phone" } }) : request.body;
        const answer = await transport.request({ ...request, body, session: { ...session, cookie: null } });
        return usesCookie && request.path === "v1/sessions" ? { ...answer, body: answer.body.replace('"token"', '"token_id":"id","token"') } : answer;
      },
    };
    await assert.rejects(phone.engine.signInWithToken("jwt"), RangeError);
    assert.deepEqual(ended.map(({ token }) => typeof token), ["string"]);
    assert.deepEqual((await devicesOf(laptop)).map(({ has_session: isLive }) => isLive).sort(), [false, true]);
    assert.equal(phone.store.account.name, "ada");
    assert.equal(phone.store.account.isSignedIn, !usesCookie);
    assert.equal(phone.store.all("lists").length, 1);
    phone.engine.transport = transport;
    phone.engine.usesCookie = false;
    await phone.engine.signIn("ada", password);
    await phone.sync();
    assert.equal(phone.store.all("lists").length, 1);
  });
}

test("the records of a store are copied into one of another account, with their ids (I2)", async (t) => {
  const server = await Server.start(t);
  const phone = await Device.signUp("ada", { server });
  const list = await phone.makeList("Groceries", "Milk", "Bread");
  await phone.sync();
  // As on a server that has lost the account and what was its own.
  const restored = await Server.start(t);
  const fresh = await Device.signUp("ada", { server: restored });
  await fresh.write((db) => {
    for (const table of ["lists", "items"]) for (const record of phone.store.all(table)) db.insert(table, { ...record, zone: null });
  });
  await fresh.sync();
  assert.equal(fresh.store.quarantined().length, 0);
  assert.deepEqual(fresh.titles(list), ["Milk", "Bread"]);
});
