// Those that only take: idle event streams, and readers that are slow. Plain sockets, as thousands of them cost little.

import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** Signs users up. @returns their tokens. */
export async function accounts(server, count) {
  const tokens = [];
  for (let number = 0; number < count; number++) {
    const answer = await fetch(`${server.address}/v1/accounts`, {
      method: "POST", headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ name: `listener-${number}`, password: "correct-horse", device: { name: "listener" } }),
    });
    const { token } = await answer.json();
    if (!token) throw new Error(`listener-${number} could not sign up: ${answer.status}`);
    tokens.push(token);
  }
  return tokens;
}

function get(server, path, token) {
  const socket = connect(server.port, "127.0.0.1");
  socket.on("error", () => {});
  socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\nAccept-Encoding: identity\r\n\r\n`);
  return socket;
}

/** Event streams that nobody uses. When the server ends, they come back, a hundred at a time. */
export class IdleStreams {
  constructor(server, tokens, count) {
    Object.assign(this, { server, tokens, count, sockets: new Set() });
  }

  get openCount() {
    return this.sockets.size;
  }

  /** Opens those that are missing. */
  async open() {
    while (this.sockets.size < this.count && !this.isClosed) {
      const before = this.sockets.size;
      const wanted = Math.min(100, this.count - before);
      await Promise.all(Array.from({ length: wanted }, (_, index) => this.openOne(before + index)));
      if (this.sockets.size === before) return;
    }
  }

  openOne(number) {
    return new Promise((resolve) => {
      const socket = get(this.server, "/v1/events", this.tokens[number % this.tokens.length]);
      socket.setEncoding("latin1");
      socket.once("data", (text) => {
        if (text.startsWith("HTTP/1.1 200")) this.sockets.add(socket);
        else socket.destroy();
        resolve();
      });
      socket.on("data", () => {});
      socket.on("close", () => {
        this.sockets.delete(socket);
        resolve();
      });
      socket.setTimeout(60_000, () => socket.destroy());
    });
  }

  /** Every ten seconds some of them end, and all that are missing are opened. */
  async live(isOver) {
    while (!isOver()) {
      for (const socket of [...this.sockets].slice(0, this.count / 50)) socket.destroy();
      await this.open();
      await sleep(10_000);
    }
  }

  close() {
    this.isClosed = true;
    for (const socket of this.sockets) socket.destroy();
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
