// The databases of home's directory in which the user is a guest: their sessions begin with passes of home. docs/DIRECTORY.md; docs/WEB.md, section 4.

import { SyncError } from "./transport.js";
import { home, isDatabaseName } from "./folder-list.js";
import { otherUser } from "./sessions.js";

/** How often home is asked. */
const pause = 15 * 60_000;
/** How old the last pass of a session gets before another is fetched. */
const passAge = 24 * 3_600_000;

/** Follows home's directory for an engine of a folder. */
export class FolderDirectory {
  constructor(engine) {
    this.engine = engine;
    /** The databases whose sessions begin with passes; null before home was asked. */
    this.guests = null;
    this.askedAt = -Infinity;
    /** The search that is under way: two passes at once would end each other's session. */
    this.finding = null;
    this.isDue = false;
    this.timer = null;
    this.carrying = Promise.resolve();
  }

  get now() {
    return this.engine.folder.environment.now();
  }

  /** @throws SyncError */
  home() {
    const engine = this.engine.engine(home);
    if (!engine) throw new SyncError("offline", "The address of home is not known.");
    return engine;
  }

  // When.

  start() {
    this.isDue = true;
    this.run();
  }

  stop() {
    this.engine.timers.clearTimeout(this.timer);
    this.timer = null;
  }

  /** Asks now, and again after a pause. Of several tabs the one that syncs home does it. */
  run() {
    const { engine } = this;
    engine.timers.clearTimeout(this.timer);
    if (!engine.isStarted) return;
    this.timer = engine.timers.setTimeout(() => {
      this.isDue = true;
      this.run();
    }, pause);
    if (!this.isDue || !this.mayRun()) return;
    this.isDue = false;
    // The next round tries again.
    this.find().catch(() => {}).then(() => this.carryMoved());
  }

  mayRun() {
    const { store, tabs } = this.engine.parts.get(home) ?? {};
    return store?.account.isSignedIn && (!tabs || tabs.isLeader);
  }

  /** A database was synced: a zone may be whole by now. */
  noteSync() {
    if (this.engine.isStarted && this.mayRun()) this.carryMoved();
  }

  /** Zones have moved, or a session has ended. */
  hurry() {
    this.isDue = true;
    this.run();
  }

  /** The same for a sync by hand, where home was not asked lately, a session has ended, or zones have moved. */
  async findIfDue() {
    const hasEnded = [...this.guests ?? []].some((name) => this.engine.engine(name)?.store.account.isSignedIn === false);
    if (!this.engine.engine(home)?.store.account.isSignedIn || (!this.isDue && !hasEnded && this.now - this.askedAt < pause)) return;
    this.isDue = false;
    await this.find();
  }

  // What.

  /** @throws ServerError; SyncError; RangeError when a database has another user's data: all others are followed. */
  find() {
    this.finding ??= this.findAll().finally(() => { this.finding = null; });
    return this.finding;
  }

  async findAll() {
    const found = (await this.list()).filter((database) => database.is_member);
    this.guests = new Set(found.map(({ name }) => name));
    this.askedAt = this.now;
    this.engine.publish();
    let failure;
    for (const database of found) await this.follow(database).catch((error) => { failure = error; });
    if (failure) throw failure;
  }

  /** The databases of the directory besides home; none where home has no directory. */
  async list() {
    try {
      const { databases } = await this.home().request("GET", "v1/databases");
      return databases.filter(({ name, is_home: isHome }) => !isHome && isDatabaseName(name));
    } catch (error) {
      if (error.code === "not-found") return [];
      throw error;
    }
  }

  /** Adds a database of the directory. @returns its engine. @throws RangeError when there is none; as `find`. */
  async join(name) {
    await this.finding?.catch(() => {});
    const database = (await this.list()).find((database) => database.name === name);
    if (!database) throw new RangeError(`Home's directory has no other database ${name}.`);
    return this.follow(database);
  }

  /** Adds a database, and begins a session there where that is due. */
  async follow({ name, url }) {
    const { engine: { folder } } = this;
    const { account } = this.home().store;
    if (!account.isSignedIn) throw new SyncError("signed-out", "Nobody is signed in at home.");
    const other = folder.store(name)?.account;
    if (other?.user && other.user !== account.user) throw otherUser(other.name);
    if (folder.databases.find((database) => database.name === name)?.server !== url) await folder.add(name, { server: url });
    const engine = this.engine.engine(name);
    if (!engine) throw new SyncError("offline", `The database ${name} can't be opened.`);
    const last = folder.list.passedAt(name);
    if (engine.store.account.isSignedIn && last <= this.now && this.now - last < passAge) return engine;
    const device = await this.deviceName(account.device);
    const { pass } = await this.home().request("POST", "v1/passes", { database: name });
    await engine.signInWithPass(pass, device);
    await folder.list.notePass(name, this.now);
    (this.guests ??= new Set()).add(name);
    // The user may have signed out of all meanwhile, and somebody else in.
    const now = this.home().store.account;
    if (now.isSignedIn && now.user === account.user) return engine;
    await engine.signOut();
    throw new SyncError("signed-out", "Nobody is signed in at home.");
  }

  /**
   * Writes what was refused as its zone has moved in the database that has the zone whole by now: docs/MOVING.md. What can't be written stays in quarantine,
   * and so does what is about zones of several databases, of which none could have it all (I6).
   *
   * @returns the names of the databases that have something to send by it.
   */
  carryMoved() {
    const run = this.carrying.then(() => this.carryAll());
    this.carrying = run.catch(() => {});
    return run;
  }

  async carryAll() {
    const carried = new Set();
    const stores = this.own();
    if (stores.every(([, store]) => store.movedSets().length === 0)) return carried;
    await Promise.all(stores.map(([, store]) => store.catchUp().catch(() => {})));
    for (const [, source] of stores) {
      for (const set of source.movedSets()) {
        const name = await this.carry(set, source, stores);
        if (name === undefined) continue;
        carried.add(name);
        // Another tab may have been there first.
        await source.discard(set.number).catch(() => {});
      }
    }
    return carried;
  }

  /** @returns the name of the database that has a moved set now; undefined when none can take it. */
  async carry(set, source, stores) {
    // The zone may have moved on since.
    const [name] = stores.find(([, store]) => store.hasTaken(set)) ?? [];
    if (name !== undefined) return name;
    for (const [name, store] of stores) {
      if (set.isHere && store !== source) continue;
      if (await store.takeMoved(set).catch(() => false)) return name;
    }
    return undefined;
  }

  /** The user's databases, as home's directory names them: no other server may get, or give, what is written for these (I10). */
  own() {
    const { folder } = this.engine;
    const isNamed = (name) => name === home || this.guests?.has(name);
    return folder.usable().filter(([name, { account }]) => isNamed(name) && account.user === folder.home.account.user);
  }

  async deviceName(id) {
    const { devices } = await this.home().request("GET", "v1/devices");
    return devices.find((device) => device.id === id)?.name ?? "browser";
  }
}
