// Keeps the databases of a folder in step with their servers. docs/WEB.md, section 4.

import { SyncEngine } from "./engine.js";
import { listen, tell } from "./entries.js";
import { FolderDirectory } from "./folder-directory.js";
import { home } from "./folder-list.js";
import { FetchTransport } from "./transport.js";

/** How long a database that can't be opened rests before it is tried again. */
const rest = 60_000;

/** Keeps each database of a folder in step with its servers, by an engine of its own: one whose server is lost makes no other one wait. */
export class FolderEngine {
  /**
   * @param options `folder`; `server`, home's address; or `transport`, which gives the transport of a database, and null while there is none; `usesCookie`,
   *   whether home's token is in a cookie; `app`, `streams` and `timers` as for `SyncEngine`; `tabs`, which gives the `Tabs` of a storage's name, a store
   *   and an engine, where several tabs share the folder.
   */
  constructor({ folder, server, transport, usesCookie = false, tabs = null, timers = globalThis, ...options }) {
    Object.assign(this, { folder, usesCookie, timers, options, makeTabs: tabs });
    this.transport = transport ?? ((database) => {
      const address = database.name === home ? server : database.server;
      return address ? new FetchTransport(address, { timers }) : null;
    });
    /** By name: `{store, server, engine, tabs, end}`. */
    this.parts = new Map();
    this.listeners = new Set();
    this.directory = new FolderDirectory(this);
    this.isDue = false;
    this.isStarted = false;
    this.timer = null;
    folder.onDatabases((databases) => this.follow(databases));
  }

  // The engines.

  /** The engine of a database; undefined when it is not open, or its address is not known. */
  engine(name) {
    return this.parts.get(name)?.engine;
  }

  /** The engine of the database that has a zone. @throws as `StoreFolder.databaseWith` */
  async engineWith(zone) {
    const name = await this.folder.databaseWith(zone);
    return name === undefined ? undefined : this.engine(name);
  }

  follow(databases) {
    const before = this.parts;
    this.parts = new Map();
    for (const database of databases) {
      const { name, server } = database;
      const store = this.folder.store(name);
      const known = before.get(name);
      const part = known?.store === store && known?.server === server ? known : store && this.makePart(database, store);
      if (part) this.parts.set(name, part);
      if (part && this.isStarted && part !== known) this.startPart(part);
    }
    for (const [name, part] of before) if (this.parts.get(name) !== part) this.stopPart(part, true);
    this.expectMending();
    this.publish();
  }

  makePart(database, store) {
    const transport = this.transport(database);
    if (!transport) return undefined;
    const usesCookie = this.usesCookie && database.name === home;
    const engine = new SyncEngine({ store, transport, usesCookie, timers: this.timers, ...this.options });
    const publish = () => this.publish();
    store.observers.add(publish);
    engine.onMove = () => this.directory.hurry();
    let wasOut = engine.status.state === "signedOut";
    const endStatus = engine.onStatus(({ state }) => {
      const isOut = state === "signedOut";
      if (isOut && !wasOut && this.directory.guests?.has(database.name)) this.directory.hurry();
      wasOut = isOut;
      if (state !== "syncing") this.directory.noteSync();
      publish();
    });
    const end = () => {
      store.observers.delete(publish);
      endStatus();
    };
    return { store, server: database.server, engine, tabs: null, end, file: this.folder.entries.get(database.name).row.file };
  }

  startPart(part) {
    if (part.store.ended) return;
    if (!this.makeTabs) return part.engine.start();
    part.tabs = this.makeTabs(part.file, part.store, part.engine);
    part.tabs.start();
  }

  stopPart(part, isGone = false) {
    (part.tabs ?? part.engine).stop();
    part.tabs = null;
    if (isGone) part.end();
  }

  // Syncing.

  /** Starts to sync all databases by itself, also those that are added later. */
  start() {
    if (this.isStarted) return;
    this.isStarted = true;
    for (const part of this.parts.values()) this.startPart(part);
    this.expectMending();
    this.directory.start();
  }

  /** Ends what `start` began. */
  stop() {
    this.isStarted = false;
    this.directory.stop();
    this.timers.clearTimeout(this.timer);
    this.timer = null;
    for (const part of this.parts.values()) this.stopPart(part);
  }

  /** What can't be opened now is tried again. */
  expectMending() {
    if (!this.isStarted || this.timer !== null || !this.folder.databases.some(({ state }) => state === "failed")) return;
    this.timer = this.timers.setTimeout(async () => {
      await this.folder.reload().catch(() => {});
      this.timer = null;
      this.expectMending();
    }, rest);
  }

  /**
   * Syncs each database once, side by side, until there is nothing left to exchange. What can't be opened is tried again first.
   *
   * @returns `{failures}`: which could not be synced, and why, as `{database, error}`.
   */
  async sync() {
    await this.folder.reload().catch(() => {});
    const { askedAt } = this.directory;
    const [failures] = await Promise.all([this.syncAll(this.parts), this.directory.findIfDue().catch(() => {})]);
    const before = new Set(this.parts.values());
    // What the servers have said of moved zones.
    await this.directory.findIfDue().catch(() => {});
    const isFollowed = (name) => this.directory.askedAt !== askedAt && this.directory.guests?.has(name);
    const again = [...this.parts].filter(([name, part]) => !before.has(part) || (isFollowed(name) && part.store.account.isSignedIn));
    const others = await this.syncAll(new Map(again));
    const carried = await this.directory.carryMoved();
    others.push(...await this.syncAll(new Map([...this.parts].filter(([name]) => carried.has(name)))));
    const isDone = (name) => again.some(([other]) => other === name);
    const closed = this.folder.databases.filter(({ error }) => error).map(({ name: database, error }) => ({ database, error }));
    return { failures: [...closed, ...failures.filter(({ database }) => !isDone(database)), ...others] };
  }

  /** @returns which could not be synced, and why. */
  async syncAll(parts) {
    const failures = [];
    await Promise.all([...parts].filter(([, { store }]) => !store.ended).map(([database, { tabs, engine }]) => (
      (tabs ?? engine).sync().catch((error) => failures.push({ database, error })))));
    return failures;
  }

  // With a directory.

  /** Makes an account at home, and follows home's directory. @throws as `SyncEngine.signUp` */
  signUp(name, password, device) {
    return this.atHome((engine) => engine.signUp(name, password, device));
  }

  /** Signs in at home, and in the other databases of home's directory in which the user is a guest. @throws as `SyncEngine.signIn` */
  signIn(name, password, device) {
    return this.atHome((engine) => engine.signIn(name, password, device));
  }

  /** The same with a JWT of the identity provider. @throws as `SyncEngine.signInWithToken` */
  signInWithToken(token, device) {
    return this.atHome((engine) => engine.signInWithToken(token, device));
  }

  async atHome(body) {
    await body(this.directory.home());
    // What keeps another database from being followed is tried again.
    await this.findDatabases().catch(() => {});
  }

  /**
   * Asks home in which other databases the user is a guest, adds those that are not here, and begins sessions where there is none or the last pass is a day
   * old. `start` and `sync` do so by themselves.
   *
   * @throws ServerError; SyncError; RangeError when a database has another user's data. All others are followed then.
   */
  findDatabases() {
    return this.directory.find();
  }

  /** Adds a database of home's directory, to accept an invitation there. @returns its engine. @throws RangeError when there is none; as `findDatabases`. */
  join(name) {
    return this.directory.join(name);
  }

  /** The network is there again. */
  reachable() {
    for (const { engine } of this.parts.values()) engine.reachable();
  }

  // One status.

  /**
   * `{databases, waiting, quarantined, offline, needsSignIn, failed}`: of each database its name, its state, and the status of its engine (null where there is
   * none); how many operations wait and how many change sets are in quarantine; and the names of the databases of which it is so.
   */
  get status() {
    const databases = this.folder.databases.map(({ name, state }) => ({ database: name, state, sync: this.engine(name)?.status ?? null }));
    const names = (isSo) => databases.filter(isSo).map(({ database }) => database);
    return {
      databases,
      waiting: this.folder.waitingOperations,
      quarantined: this.folder.stores().reduce((sum, [, store]) => sum + store.quarantineSize, 0),
      offline: names(({ state, sync }) => state === "open" && sync?.state === "offline"),
      // The session of a guest begins again by itself.
      needsSignIn: names(({ database, state, sync }) => state === "open" && sync?.state === "signedOut" && !this.directory.guests?.has(database)),
      failed: names(({ state }) => state === "failed"),
    };
  }

  /** Calls `listener` with the status, now and whenever it changes. @returns a function that ends it. */
  onStatus(listener) {
    let last = "";
    const run = (status) => {
      const text = JSON.stringify(status);
      if (text === last) return;
      last = text;
      listener(status);
    };
    return listen(this.listeners, run, () => run(this.status));
  }

  /** Says the status once for all that happens at one moment. */
  publish() {
    if (this.isDue || this.listeners.size === 0) return;
    this.isDue = true;
    queueMicrotask(() => {
      this.isDue = false;
      const { status } = this;
      for (const listener of [...this.listeners]) if (this.listeners.has(listener)) tell(listener, status);
    });
  }

  // Leaving.

  /**
   * Ends the sessions of all databases on this device. The data stay, unless `erases`; then edits that were not sent must be few enough to lose them
   * knowingly: `force`.
   *
   * @throws RangeError when edits would be lost, or why one can't be looked at: nothing has changed then; why one could not be signed out, when all others are.
   */
  signOut({ erases = false, force = false } = {}) {
    return this.leave(this.folder.databases.map(({ name }) => name), { erases, force });
  }

  /** Removes a database from this device. Its user and its zones stay on its servers. @throws as `signOut`; RangeError for home. */
  async remove(name, { force = false } = {}) {
    if (name === home) throw new RangeError("Home can't be removed. Sign out with erases.");
    if (!this.folder.databases.some((database) => database.name === name)) throw new RangeError(`There is no database ${name}.`);
    return this.leave([name], { erases: true, force });
  }

  async leave(names, options) {
    const sessions = new Map(names.filter((name) => this.engine(name)).map((name) => [name, { engine: this.engine(name), session: this.engine(name).device }]));
    const failures = await this.folder.leave(names, options);
    const ended = [...sessions].filter(([name, { session }]) => !failures.has(name) && (session.token || session.cookie !== null));
    await Promise.all(ended.map(([, { engine, session }]) => engine.leave(session)));
    const [failure] = failures.values();
    if (failure) throw failure;
  }
}
