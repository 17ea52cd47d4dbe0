// The list of a folder's databases. docs/WEB.md, section 4.
//
// | store | key | entry |
// | --- | --- | --- |
// | `databases` | name | `{name, number, file, server, hasZones, leaving, failure}` |
// | `zones` | name, zone | true: the database may have the zone |
// | `local` | `next` | the number of the next database or mark |
// | `local` | `pass` and a name | when the session there last began with a pass of home, in milliseconds since 1970 |
// | `local` | `left` | how many databases have left: the storage of a later one has another name, as a tab may hold an older one |
//
// `hasZones` says that the list names all zones of the database: each is noted before it comes into it. `leaving` is a mark, `{number, erases, force,
// device, session, edits}`: what is to be done, for whose session, and which edits may be lost. `failure` says why the last mark was not done.

import { Entries } from "./entries.js";
import { left } from "./store-error.js";

/** The database in which everything is written that no other has. */
export const home = "home";
/** One connection of the Swift client reads so many. */
export const databaseLimit = 10;

const newHome = { name: home, number: 0, file: home, server: null, hasZones: false, leaving: null, failure: null };
const zoneKey = (name, zone) => `${name} ${zone}`;

/** Whether a database may be called so: the Swift client makes a file and a schema of SQL of it. */
export function isDatabaseName(name) {
  return typeof name === "string" && /^[a-z][a-z0-9_-]{0,31}$/.test(name) && !/^(home|main|temp|folder|aux|con|nul|prn|com\d|lpt\d)$/.test(name);
}

/** The list. */
export class FolderList extends Entries {
  static async open(storage) {
    const list = new FolderList(storage);
    await storage.open();
    await list.load();
    return list;
  }

  /** The databases, home first, and the others in the order in which they were added. */
  rows() {
    const rows = [...this.state.store("databases").values()];
    if (!rows.some(({ name }) => name === home)) rows.push(newHome);
    return rows.sort((one, other) => one.number - other.number);
  }

  row(draft, name) {
    return draft.get("databases", name) ?? (name === home ? newHome : undefined);
  }

  number(draft) {
    const number = draft.get("local", "next") ?? 1;
    draft.put("local", "next", number + 1);
    return number;
  }

  /** Adds a database; one that is there stays, and gets the address. @returns false while an earlier one of the name leaves. */
  add(name, server) {
    return this.transact((draft) => {
      const row = this.row(draft, name);
      if (row?.leaving) return false;
      if (row) {
        draft.put("databases", name, { ...row, server: server ?? row.server });
        return true;
      }
      const others = [...draft.entries("databases")].filter(([other]) => other !== home);
      if (others.length >= databaseLimit - 1) throw new RangeError(`The folder has ${databaseLimit} databases already. Remove one first.`);
      const count = draft.get("local", "left") ?? 0;
      const file = count === 0 ? name : `${name} ${count}`;
      draft.put("databases", name, { ...newHome, name, number: this.number(draft), file, server: server ?? null });
      return true;
    });
  }

  // Databases that leave.

  /** Notes what is to be done with databases, by name. @returns the numbers of the marks, by name. */
  mark(marks) {
    return this.transact((draft) => new Map([...marks].flatMap(([name, mark]) => {
      const row = this.row(draft, name);
      if (!row) return [];
      const number = this.number(draft);
      draft.put("databases", name, { ...row, leaving: { ...mark, number }, failure: null });
      return [[name, number]];
    })));
  }

  /** Takes a mark away. @param reason why it was not done; null when it was. */
  unmark(name, number, reason = null) {
    return this.transact((draft) => {
      const row = this.row(draft, name);
      if (row?.leaving?.number !== number) return;
      draft.put("databases", name, { ...row, leaving: null, failure: reason && { number, reason } });
    });
  }

  /** A marked database is gone. */
  remove(name, number) {
    return this.transact((draft) => {
      if (this.row(draft, name)?.leaving?.number !== number) return;
      draft.delete("databases", name);
      for (const [key] of [...draft.entries("zones")]) if (key.startsWith(zoneKey(name, ""))) draft.delete("zones", key);
      draft.delete("local", `pass ${name}`);
      draft.put("local", "left", (draft.get("local", "left") ?? 0) + 1);
    });
  }

  // Passes.

  /** When the session in a database last began with a pass; 0 for never. */
  passedAt(name) {
    return this.state.store("local").get(`pass ${name}`) ?? 0;
  }

  notePass(name, now) {
    return this.transact((draft) => { draft.put("local", `pass ${name}`, now); });
  }

  // Zones.

  /** Notes that zones come into a database. @throws StoreError when it has left. */
  noteZones({ name, file }, zones, hasAll = false) {
    return this.transact((draft) => {
      const row = draft.get("databases", name);
      if (row?.file !== file) throw left();
      for (const zone of zones) draft.put("zones", zoneKey(name, zone), true);
      if (hasAll) draft.put("databases", name, { ...row, hasZones: true });
    });
  }

  /** Whether a database that can't be read now may have a zone; null for any. */
  mayHave(name, zone) {
    return zone === null || !this.state.store("databases").get(name)?.hasZones || this.state.store("zones").has(zoneKey(name, zone));
  }

  /**
   * Forgets the zones that a database has no more.
   *
   * @param look gives the zones that are in it, by a commit: one that is under way then, and brings others, is made again, and notes them again.
   */
  async forgetZones(name, look) {
    const { version } = this.state;
    const start = zoneKey(name, "");
    const noted = [...this.state.store("zones").keys()].filter((key) => key.startsWith(start));
    const here = new Set((await look()).map((zone) => zoneKey(name, zone)));
    await this.transact((draft) => {
      // Something is noted meanwhile.
      if (this.state.version !== version) return;
      for (const key of noted) if (!here.has(key)) draft.delete("zones", key);
    });
  }

  hasOtherZones(name, zones) {
    const here = new Set(zones.map((zone) => zoneKey(name, zone)));
    return [...this.state.store("zones").keys()].some((key) => key.startsWith(zoneKey(name, "")) && !here.has(key));
  }
}
