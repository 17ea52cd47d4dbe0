// The sync engine: performs what the state machines decide. docs/PROTOCOL.md, sections 6.2 to 6.6.

import { parseAnswer } from "./answer.js";
import { applyAnswer, Diverged, Outdated } from "./applying.js";
import { utf8Length } from "./bytes.js";
import { listen, tell } from "./entries.js";
import { EventStream } from "./event-stream.js";
import { parse, plain, write } from "./json.js";
import { endsSession, isProblem, problemOf } from "./quarantine.js";
import { RequestSize } from "./request-size.js";
import { isCurrent, prepareRequest, quarantineOldest } from "./requests.js";
import { adopt, otherUser, parseSession } from "./sessions.js";
import { SyncMachine } from "./sync-machine.js";
import { ServerError, SyncError } from "./transport.js";

/** From how many claims of the request, or bytes, an answer is no empty one. */
const substance = { claims: 100, bytes: 256 << 10 };

/** No whole answer came to a request. */
class Unreachable extends Error {}

/** Keeps a store and a server in step. */
export class SyncEngine {
  /**
   * @param options `store`, `transport`, `app` (what the server is told, such as `"jot-web 1.0"`), `usesCookie` (whether the browser keeps the token in a
   *   cookie), `streams` (whether to listen to the server's events) and `timers`.
   */
  constructor({ store, transport, app, usesCookie = false, streams = true, timers = globalThis }) {
    Object.assign(this, { store, transport, app, usesCookie, timers });
    Object.assign(this, { canStream: streams, isStarted: false, stream: null });
    /** It is there while the engine is started, or syncs by hand. */
    this.machine = null;
    this.requestSize = new RequestSize();
    this.waiters = [];
    this.listeners = new Set();
    /** `{state: "signedOut" | "idle" | "syncing" | "offline", reason?}` */
    this.status = { state: store.account.isSignedIn ? "idle" : "signedOut" };
    this.observer = (kind) => this.observe(kind);
    store.observers.add((kind) => { if (kind === "ended") this.end(); });
    /** Called when the server says that zones, or those of refused change sets, are in another database. */
    this.onMove = () => {};
  }

  /** Starts to sync by itself: now, after edits, and when the server has something new. */
  start() {
    if (this.isStarted) return;
    this.isStarted = true;
    this.machine ??= this.makeMachine();
    if (this.canStream) this.stream = new EventStream(this);
    this.store.observers.add(this.observer);
    this.run({ type: "launched" });
    this.stream?.follow();
  }

  /** Ends what runs. Requests that are under way are answered, but nothing follows. */
  stop() {
    if (!this.machine) return;
    this.isStarted = false;
    this.stream?.run({ type: "stop" });
    this.store.observers.delete(this.observer);
    this.finish({ kind: "later", reason: "The engine was stopped." });
  }

  /** The store does nothing more. */
  end() {
    this.stop();
    this.publish({ state: "offline", reason: this.store.ended.message });
  }

  /**
   * Syncs until there is nothing left to exchange.
   *
   * @throws SyncError when that is not possible now; nothing is lost.
   */
  sync() {
    this.machine ??= this.makeMachine();
    const end = new Promise((resolve, reject) => this.waiters.push({ resolve, reject }));
    this.run({ type: "syncNow" });
    return end;
  }

  makeMachine() {
    return new SyncMachine(this.store.account.isSignedIn, this.store.environment.random);
  }

  /** The network is there again. */
  reachable() {
    this.run({ type: "reachable" });
    this.stream?.run({ type: "reachable" });
  }

  /** Calls `listener` with the status, now and whenever it changes. @returns a function that ends it. */
  onStatus(listener) {
    return listen(this.listeners, listener, () => listener(this.status));
  }

  publish(status) {
    this.status = status;
    for (const listener of [...this.listeners]) if (this.listeners.has(listener)) tell(listener, status);
  }

  observe(kind) {
    if (kind === "written") this.run({ type: "edited" });
    // Another tab has signed in or out, or has written.
    if (kind === "read") {
      const { isSignedIn } = this.store.account;
      if (isSignedIn && this.machine?.state === "signedOut") this.signedIn();
      else if (!isSignedIn && this.machine?.state !== "signedOut") this.run({ type: "signedOut" });
      else if (this.store.waitingOperations > 0) this.run({ type: "edited" });
    }
  }

  // The account.

  /** Makes an account, and signs in. @throws ServerError; SyncError; RangeError when the device has a user's data: a new account is another user. */
  async signUp(name, password, device = "browser") {
    await this.requireUser();
    return this.beginSession("v1/accounts", { name, password, device: { name: device } });
  }

  /** Signs in; as the device that this one was before, where it was one. @throws ServerError; SyncError; RangeError when the device has another user's data. */
  async signIn(name, password, device = "browser") {
    await this.requireUser(name);
    const { device: id, session } = this.device;
    return this.beginSession("v1/sessions", { name, password, device: { name: device, ...(id ? { id, session } : {}) } });
  }

  /** Signs in with a JWT of the server's identity provider. @throws ServerError; SyncError; RangeError when it is another user's than the data. */
  signInWithToken(token, device) {
    return this.signInWith({ token }, device);
  }

  /** Signs in as a guest, with a pass of the user's home: docs/DIRECTORY.md. @throws as `signInWithToken` */
  signInWithPass(pass, device) {
    return this.signInWith({ pass }, device);
  }

  async signInWith(credentials, device = "browser") {
    await this.store.catchUp();
    const { device: id, session } = this.device;
    return this.beginSession("v1/sessions", { ...credentials, device: { name: device, ...(id ? { id, session } : {}) } });
  }

  /** Before the server makes an account or a session that this device can't have. @param name whose data the device may have; none for nobody's. */
  async requireUser(name) {
    await this.store.catchUp();
    const { user, userName } = this.device;
    if (user && userName !== name) throw otherUser(userName);
  }

  async beginSession(path, body) {
    // Not for a store that another version of the app has taken over.
    await this.store.transact(() => {});
    const request = { method: "POST", path, body: write(body), session: { cookie: this.usesCookie ? "" : null } };
    const session = await this.ask(request, (body) => parseSession(body, this.usesCookie));
    try {
      await this.adopt(session);
    } catch (error) {
      if (error instanceof RangeError) await this.leaveSession(session);
      throw error;
    }
    this.signedIn();
  }

  /** Ends a session of another user than the one whose data this device has. */
  async leaveSession({ token = null, token_id: cookie = null }) {
    await this.transport.request({ method: "DELETE", path: "v1/sessions/current", session: { token, cookie } }).catch(() => {});
    if (this.device.cookie === null) return;
    // Its cookie has taken the place of the user's own.
    await this.forgetToken(this.device);
    this.run({ type: "signedOut" });
    this.publish({ state: "signedOut" });
  }

  async adopt(session) {
    await this.store.transact((draft) => adopt(draft, this.store.schema, session, this.usesCookie, this.store.environment.now()));
  }

  signedIn() {
    this.run({ type: "signedIn" });
    if (this.machine?.state !== "syncing") this.publish({ state: "idle" });
    this.stream?.follow();
  }

  /**
   * Signs out. The data stays, unless `erases`; then edits that were not sent must be few enough to lose them knowingly: `force`.
   *
   * @throws RangeError when edits would be lost; the device then stays signed in.
   */
  async signOut({ erases = false, force = false } = {}) {
    const { store } = this;
    await store.catchUp();
    const session = this.device;
    if (erases) await store.erase({ force });
    else await this.forgetToken(session);
    await this.leave(session);
  }

  /** The session has ended on this device: the server is told. */
  async leave(session) {
    this.run({ type: "signedOut" });
    this.publish({ state: "signedOut" });
    // Without a network it ends by itself one day.
    await this.transport.request({ method: "DELETE", path: "v1/sessions/current", session }).catch(() => {});
  }

  get device() {
    return this.store.reader().draft.device;
  }

  /**
   * A request of REST or of sharing with this device's session: docs/SHARING.md, and docs/PROTOCOL.md, sections 2 and 9.
   *
   * @returns the answer as plain objects; null where it has no content.
   * @throws ServerError; SyncError when the server can't be reached.
   */
  async request(method, path, body) {
    const request = { method, path, body: body === undefined ? undefined : write(body), session: this.device };
    return this.ask(request, (body) => (body === "" ? null : plain(parse(body))));
  }

  /** Sends a request, and reads its answer, which may be a portal's. @throws ServerError; SyncError */
  async ask(request, read) {
    const answer = await this.transport.request(request).catch((error) => {
      throw new SyncError("offline", `The server can't be reached: ${error.message}`);
    });
    if (answer.status >= 300) throw new ServerError(problemOf(answer.body, answer.status));
    try {
      return read(answer.body);
    } catch (error) {
      throw new SyncError("offline", `What answered may not be the server: ${error.message}`);
    }
  }

  run(event) {
    for (const action of this.machine?.handle(event) ?? []) this.perform(action);
  }

  perform(action) {
    switch (action.type) {
      case "send":
        this.runAfter(this.roundTrip(action.limit));
        this.publish({ state: "syncing" });
        break;
      case "identify":
        this.runAfter(this.identify());
        break;
      case "quarantineOldest": {
        // In the store's queue before the next request is made.
        const { request, problem } = this.unacceptable;
        const now = this.store.environment.now();
        this.store.transact((draft) => quarantineOldest(draft, this.store.schema, request, problem, now)).catch(() => {});
        break;
      }
      case "schedule":
        this.timers.clearTimeout(this.timer);
        this.timer = this.timers.setTimeout(() => this.run({ type: "timer" }), action.after);
        break;
      case "stopTimer":
        this.timers.clearTimeout(this.timer);
        break;
      case "finish":
        this.finish(action.failure);
        break;
      default: throw new TypeError(`No action ${action.type}.`);
    }
  }

  finish(failure) {
    if (!this.isStarted) {
      this.timers.clearTimeout(this.timer);
      this.machine = null;
    }
    const waiters = this.waiters.splice(0);
    if (!failure) {
      this.publish({ state: "idle" });
      for (const { resolve } of waiters) resolve();
      return;
    }
    // Nobody is signed in any more.
    if (failure.kind === "expired") this.stream?.run({ type: "stop" });
    const error = failure.kind === "expired"
      ? new SyncError("signed-out", "Nobody is signed in. Sign in to sync; nothing on this device is lost.") : new SyncError("offline", failure.reason);
    this.publish(failure.kind === "expired" ? { state: "signedOut" } : { state: "offline", reason: failure.reason });
    for (const { reject } of waiters) reject(error);
  }

  /** Runs the event that comes of a request, unless the engine was stopped meanwhile: another machine knows nothing of it. */
  async runAfter(request) {
    const { machine } = this;
    const event = await request.catch((error) => (
      { type: "failed", failure: { kind: error instanceof Unreachable ? "unreachable" : "later", reason: error.message } }));
    if (this.machine === machine) this.run(event);
  }

  async roundTrip(limit) {
    // In turn with the transactions before it.
    const request = await this.store.transact((draft) => prepareRequest(draft, this.store.schema, limit, this.app, this.requestSize.limit));
    if (!request) return { type: "failed", failure: { kind: "expired" } };
    const answer = await this.send(request);
    if (answer.status === 200) return this.apply(answer.body, request);
    const failure = this.failureOf(answer, request);
    if (failure.kind === "expired" || failure.kind === "diverged") {
      await this.store.catchUp();
      if (!isCurrent(this.store.reader().draft, request)) return { type: "answered", hasMore: true, items: 0 };
      if (failure.kind === "expired") await this.forgetToken(request);
    }
    return { type: "failed", failure };
  }

  /** Sends a request of a sync, and notes whether it was too large for a slow way. */
  async send(request) {
    const size = utf8Length(request.body);
    const answer = await this.post("v1/sync", request.body, request).catch((error) => {
      this.requestSize.lose(size);
      throw error;
    });
    if (answer.status === 408) this.requestSize.lose(size);
    else this.requestSize.arrive(size);
    return answer;
  }

  post(path, body, session) {
    return this.transport.request({ method: "POST", path, body, session }).catch((error) => {
      throw new Unreachable(error.message, { cause: error });
    });
  }

  async apply(body, request) {
    const answer = parseAnswer(body);
    const { schema, environment } = this.store;
    const take = () => this.store.transact((draft) => applyAnswer(draft, schema, answer, request, environment));
    try {
      const applied = await take().catch(async (error) => {
        if (!(error instanceof Diverged)) throw error;
        // Another tab may have sent what this one has not read.
        await this.store.catchUp();
        return take();
      });
      if (answer.moved.length > 0 || answer.refused.some(({ problem }) => problem.code === "zone-moved")) this.onMove();
      const isSubstantial = applied.hasSettled || applied.hasAdvanced
        || request.claims.length >= substance.claims || utf8Length(body) >= substance.bytes;
      return { type: "answered", hasMore: applied.hasMore, wait: applied.wait, items: request.items, isSubstantial, hasNews: applied.hasNews };
    } catch (error) {
      if (error instanceof Outdated) return { type: "answered", hasMore: true, items: 0 };
      if (error instanceof Diverged) return { type: "failed", failure: { kind: "diverged" } };
      throw error;
    }
  }

  /** The session has ended: this tab and the others know it. */
  forgetToken(request) {
    return this.store.transact((draft) => {
      const { device } = draft;
      if (device.session === request.session) draft.device = { ...device, token: null, cookie: null };
    });
  }

  failureOf(answer, request) {
    const isOurs = isProblem(answer.body);
    const problem = problemOf(answer.body, answer.status);
    if (endsSession(answer)) return { kind: "expired" };
    if (answer.status === 409 && problem.code === "device-diverged") return { kind: "diverged" };
    const reason = problem.detail ?? problem.title;
    // What has no problem of the server's may come from a proxy, and says nothing of the body; but for its size.
    const isUnacceptable = answer.status === 413
      || ([400, 422].includes(answer.status) && isOurs && problem.code !== "protocol-unsupported");
    if (!isUnacceptable) return { kind: "later", reason, retryAfter: answer.retryAfter };
    this.unacceptable = { request, problem };
    return { kind: "unacceptable", items: request.items, isTooLarge: answer.status === 413, reason };
  }

  // A new identity for a copy.

  async identify() {
    await this.store.catchUp();
    const before = this.device;
    const answer = await this.post("v1/devices", write({ name: "copy" }), before);
    if (endsSession(answer)) return { type: "failed", failure: { kind: "expired" } };
    if (answer.status !== 201) {
      const reason = `The server gave no new identity (${answer.status}).`;
      return { type: "failed", failure: { kind: "later", reason, retryAfter: answer.retryAfter } };
    }
    if (this.device.session === before.session && this.device.device === before.device) await this.adopt(parseSession(answer.body, this.usesCookie));
    return { type: "identified" };
  }
}
