// Those that only take: idle event streams, and readers that are slow. Plain sockets, as thousands of them cost little.

import { generateKeyPairSync, sign } from "node:crypto";
import { writeFileSync } from "node:fs";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** An identity provider, whose tokens make users without a password to hash. */
export class Provider {
  /** @param file where its key set is written. */
  constructor(file) {
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    this.key = privateKey;
    writeFileSync(file, JSON.stringify({ keys: [{ ...publicKey.export({ format: "jwk" }), kid: "soak", alg: "EdDSA" }] }));
    this.options = ["--jwt-issuer", "soak", "--jwt-audience", "soak", "--jwt-keys", file, "--sign-up"];
  }

  token(user) {
    const encode = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: "soak", aud: "soak", sub: user, iat: now, exp: now + 7 * 86400 };
    const text = `${encode({ alg: "EdDSA", kid: "soak", typ: "JWT" })}.${encode(claims)}`;
    return `${text}.${sign(null, Buffer.from(text), this.key).toString("base64url")}`;
  }
}

function get(server, path, token) {
  const socket = connect(server.port, "127.0.0.1");
  socket.on("error", () => {});
  socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\nAccept-Encoding: identity\r\n\r\n`);
  return socket;
}

/** Event streams that nobody uses. When the server ends, they come back, a hundred at a time. */
export class IdleStreams {
  constructor(server, provider, count) {
    Object.assign(this, { server, provider, count, sockets: new Map(), tokens: [] });
  }

  /** Begins a session for each stream, as a device has one, and a user a hundred. */
  async signIn() {
    while (this.tokens.length < this.count) {
      const first = this.tokens.length;
      const wanted = Math.min(20, this.count - first);
      this.tokens.push(...await Promise.all(Array.from({ length: wanted }, (_, index) => this.session(first + index))));
    }
  }

  async session(number) {
    const answer = await fetch(`${this.server.address}/v1/sessions`, {
      method: "POST", headers: { "Content-Type": "application/json" },
      body: JSON.stringify({
        token: this.provider.token(`listener-${Math.floor(number / 100)}`), device: { name: `${number}` },
      }),
    });
    if (answer.status !== 200) throw new Error(`A listener could not sign in: ${answer.status} ${await answer.text()}`);
    return (await answer.json()).token;
  }

  get openCount() {
    return this.sockets.size;
  }

  /** Opens those that are missing. */
  async open() {
    const missing = [...this.tokens.keys()].filter((number) => !this.sockets.has(number));
    for (let first = 0; first < missing.length && !this.isClosed; first += 100) {
      await Promise.all(missing.slice(first, first + 100).map((number) => this.openOne(number)));
    }
  }

  openOne(number) {
    return new Promise((resolve) => {
      const socket = get(this.server, "/v1/events", this.tokens[number]);
      socket.setEncoding("latin1");
      socket.once("data", (text) => {
        if (text.startsWith("HTTP/1.1 200")) this.sockets.set(number, socket);
        else socket.destroy();
        resolve();
      });
      socket.on("data", () => {});
      socket.on("close", () => {
        if (this.sockets.get(number) === socket) this.sockets.delete(number);
        resolve();
      });
      socket.setTimeout(60_000, () => socket.destroy());
    });
  }

  /** Every ten seconds some of them end, and all that are missing are opened. */
  async live(isOver) {
    while (!isOver()) {
      for (const socket of [...this.sockets.values()].slice(0, this.count / 50)) socket.destroy();
      await this.open();
      await sleep(10_000);
    }
  }

  close() {
    this.isClosed = true;
    for (const socket of this.sockets.values()) socket.destroy();
  }
}

/** Connections that ask for much, and take a kilobyte a second. */
export class SlowReaders {
  constructor(server, token, count) {
    Object.assign(this, { server, token, count, sockets: [] });
  }

  async live(isOver) {
    while (!isOver()) {
      for (let number = 0; number < this.count; number++) {
        const socket = this.sockets[number];
        if (!socket || socket.destroyed) this.sockets[number] = this.open();
        else socket.read(1024);
      }
      await sleep(1000);
    }
  }

  open() {
    const socket = get(this.server, "/v1/tables/items?limit=1000", this.token);
    // Without a listener nothing is read but by `read`.
    socket.pause();
    return socket;
  }

  close() {
    for (const socket of this.sockets) socket.destroy();
  }
}
