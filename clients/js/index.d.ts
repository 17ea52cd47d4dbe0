// Types of the client. docs/WEB.md describes it.

/** A value of a column: JSON columns have any JSON, integers beyond 2^53 are BigInt. */
export type Value = null | boolean | number | bigint | string | Date | unknown[] | { [name: string]: unknown };

/** A record, with its columns beside `id`, `zone` and `rev` (0: not confirmed yet). */
export type Row = { id: string; zone: string | null; rev: number } & { [column: string]: any };

/** Where records go in an ordered list. */
export type Place = "first" | "last" | { before: string } | { after: string };

/** Reads records as they are at one moment. What it gives is the caller's own. */
export interface Reader {
  get(table: string, id: string): Row | undefined;
  /**
   * @param options `where`: values that columns, `id`, `zone` or `rev` must have; `order`: names of these, ids decide between equal ones. A name that the table
   *   does not have is a TypeError.
   */
  all(table: string, options?: { where?: { [column: string]: Value }; order?: string[] }): Row[];
  /** The records of an ordered list. @param parent the record that they refer to, or null. */
  list(table: string, parent: string | null, position?: string): Row[];
  /** The columns that are changed here and not confirmed. */
  unsent(table: string, id: string): string[];
}

/** Reads and writes; valid while the function of `write` runs. */
export interface Transaction extends Reader {
  /** Creates a record; makes an id where none is given. A new member needs `zone`. */
  insert(table: string, values: { id?: string; zone?: string; [column: string]: Value | undefined }): string;
  /** @param base what the person saw before: what changed meanwhile is merged by the column's policy, and what is lost is logged. */
  update(table: string, id: string, values: { [column: string]: Value }, base?: { [column: string]: Value }): void;
  /** Deletes a record, and what is below it as its references say. What refers to it with `restrict` at the end refuses the transaction. */
  delete(table: string, id: string): void;
  increment(table: string, id: string, column: string, amount?: number | bigint): void;
  /** Moves records within their list, or to that of another parent. */
  move(table: string, ids: string[], place: Place, options?: { parent?: string; position?: string }): void;
  /** Positions for new records. */
  positions(table: string, count: number, place: Place, options?: { parent?: string | null; position?: string }): string[];
  /** Closes a conflict. Of a record that is gone it takes `"winner"`; of one that was deleted, `"loser"` brings it back. */
  resolve(conflict: string, choice: "winner" | "loser" | { value: Value }): void;
}

/** An operation of a refused change set. */
export interface Operation {
  op: "create" | "update" | "delete";
  table: string;
  id: string;
  columns: { [column: string]: any };
  base: { [column: string]: any };
  zone: string | null;
}

/** A problem of docs/PROTOCOL.md, section 10. */
export interface Problem {
  code: string;
  status: number;
  title?: string;
  detail?: string;
  [member: string]: unknown;
}

/** A refused change set. `because` is the number of the set without which it could not be applied. */
export interface QuarantinedChangeSet {
  number: number;
  at: number;
  problem: Problem;
  operation: number;
  operations: Operation[];
  because: number | null;
}

/** A change of a stored entry; an entry that is undefined goes. */
export type Change = [store: string, key: string, entry: unknown];

/** Where a store keeps its entries. */
export interface Storage {
  /** Set by the store. Called when the entries are no longer this storage's: the store then does nothing more. */
  onClosed?: (error: StoreError) => void;
  open(): Promise<void>;
  close(): Promise<void>;
  load(): Promise<{ version: number; entries: Change[] }>;
  /** Null when the version is too long ago. */
  changesSince(version: number): Promise<{ version: number; changes: Change[] } | null>;
  /** Keeps changes on top of a version, durably; false when another commit came first. */
  commit(version: number, changes: Change[]): Promise<boolean>;
  /** Removes all, and closes. A folder needs it. */
  remove?(): Promise<void>;
}

/** Keeps entries in memory. */
export class MemoryStorage implements Storage {
  open(): Promise<void>;
  close(): Promise<void>;
  load(): Promise<{ version: number; entries: Change[] }>;
  changesSince(version: number): Promise<{ version: number; changes: Change[] } | null>;
  commit(version: number, changes: Change[]): Promise<boolean>;
  remove(): Promise<void>;
}

/** Keeps entries in IndexedDB, with `durability: "strict"`. */
export class IndexedDBStorage implements Storage {
  constructor(name: string, factory?: IDBFactory);
  onClosed: (error: StoreError) => void;
  open(): Promise<void>;
  close(): Promise<void>;
  load(): Promise<{ version: number; entries: Change[] }>;
  changesSince(version: number): Promise<{ version: number; changes: Change[] } | null>;
  commit(version: number, changes: Change[]): Promise<boolean>;
  remove(): Promise<void>;
}

/** The clock and the randomness. `random` gives 0 up to, but not including, 1; `random64` 64 random bits. */
export interface Environment {
  now(): number;
  random(): number;
  random64(): bigint;
}

/** The content of holdfast.json. */
export class Schema {
  constructor(json: string | object);
  readonly name: string;
  readonly version: number;
}

/** A device's store. */
export class Store {
  static open(options: { storage: Storage; schema: string | object | Schema; environment?: Environment }): Promise<Store>;
  readonly schema: Schema;
  readonly account: { user: string | null; name: string | null; device: string | null; isSignedIn: boolean };
  /** How many operations are not confirmed. */
  readonly waitingOperations: number;
  /** How many change sets are in quarantine. */
  readonly quarantineSize: number;
  readonly undoable: { undo: boolean; redo: boolean };
  /** Called after each commit: `"written"` by this store's app, `"committed"` by its engine, `"read"` of another tab's; `"ended"` when the store does nothing more. */
  readonly observers: Set<(kind: "written" | "committed" | "read" | "ended") => void>;
  close(): Promise<void>;
  reader(): Reader;
  get(table: string, id: string): Row | undefined;
  all(table: string, options?: { where?: { [column: string]: Value }; order?: string[] }): Row[];
  /** Calls the listener now and after each change. Gives a function that ends it. */
  live<Result>(read: (db: Reader) => Result, listener: (result: Result) => void, options?: { tables?: string[] }): () => void;
  /** Runs a transaction, perhaps more than once. Resolves when it is durably stored. */
  write<Result>(body: (db: Transaction) => Result): Promise<Result>;
  undo(): Promise<{ changed: number; kept: number } | null>;
  redo(): Promise<{ changed: number; kept: number } | null>;
  quarantined(): QuarantinedChangeSet[];
  /** Writes a refused change set and its dependents again, each as a change set of its own. */
  resend(number: number, amend?: (operations: Operation[]) => void): Promise<void>;
  discard(number: number): Promise<void>;
  zones(): { zone: string; role: string; isWhole: boolean }[];
  /** Begins or ends to follow a public zone of the schema. Rejects with a WriteError for another. */
  follow(zone: string, isFollowed?: boolean): Promise<void>;
  /** Takes what other tabs have committed. */
  catchUp(): Promise<void>;
}

/** A database of a folder. One that has failed can't be opened, or can't be written any more. */
export interface FolderDatabase {
  name: string;
  /** The address of its servers; null for home, and where it is not known. */
  server: string | null;
  state: "open" | "failed";
  error: Error | null;
}

/** Several databases on one device, each with its own servers, account and storage, read as one. */
export class StoreFolder {
  /** @param options `storage`: gives the storage of each name; `home` is that of home, and `folder` that of the list. */
  static open(options: { storage: (name: string) => Storage; schema: string | object | Schema; environment?: Environment }): Promise<StoreFolder>;
  readonly schema: Schema;
  readonly home: Store;
  /** Home first. */
  readonly databases: FolderDatabase[];
  /** How many operations of all databases are not confirmed. */
  readonly waitingOperations: number;
  readonly undoable: { undo: boolean };
  close(): Promise<void>;
  /** Calls the listener now, and whenever a database comes, leaves, fails or is mended. Gives a function that ends it. */
  onDatabases(listener: (databases: FolderDatabase[]) => void): () => void;
  store(name: string): Store | undefined;
  /** Rejects with a RangeError for a name that can't be one, or where there are ten databases. */
  add(name: string, options?: { server?: string }): Promise<FolderDatabase>;
  /** Tries again to open what has failed, and takes what other tabs have done. */
  reload(): Promise<void>;
  reader(): Reader;
  /** Where several databases have a record of one id, that of the first. */
  get(table: string, id: string): Row | undefined;
  all(table: string, options?: { where?: { [column: string]: Value }; order?: string[] }): Row[];
  /** Calls the listener now and after each change in any database. Gives a function that ends it. */
  live<Result>(read: (db: Reader) => Result, listener: (result: Result) => void, options?: { tables?: string[] }): () => void;
  /** Runs a transaction at home. */
  write<Result>(body: (db: Transaction) => Result): Promise<Result>;
  /**
   * Runs a transaction in the database that has a zone; at home, if none has it. Rejects with a StoreError: `zone-ambiguous` when several have it,
   * `cannot-open` when one that may have it can't be read now.
   */
  write<Result>(zone: string, body: (db: Transaction) => Result): Promise<Result>;
  /** Closes a conflict in the database that has it. Rejects as `write`. */
  resolve(conflict: string, choice: "winner" | "loser" | { value: Value }): Promise<void>;
  /** Reverses the last transaction of this device, in whichever database it is. */
  undo(): Promise<{ changed: number; kept: number } | null>;
  quarantined(): (QuarantinedChangeSet & { database: string })[];
  resend(set: { database: string; number: number }, amend?: (operations: Operation[]) => void): Promise<void>;
  discard(set: { database: string; number: number }): Promise<void>;
  zones(): { database: string; zone: string; role: string; isWhole: boolean }[];
  databasesWith(zone: string): Promise<string[]>;
  /** The one database that has a zone. Rejects as `write`. */
  databaseWith(zone: string): Promise<string | undefined>;
}

/** What a session says in a request. */
export interface SessionFields {
  token?: string | null;
  /** The id of the token in the browser's cookie; empty before there is one. */
  cookie?: string | null;
}

/** The way to a server. */
export interface Transport {
  request(request: { method: string; path: string; body?: string; session?: SessionFields }): Promise<{ status: number; body: string; retryAfter: number }>;
  stream(request: {
    path: string; session: SessionFields; lastEventID?: string; signal: AbortSignal; onText: (text: string) => void;
  }): Promise<{ status: number; retryAfter: number }>;
}

/** Sends requests by `fetch`. */
export class FetchTransport implements Transport {
  constructor(server?: string, options?: { fetch?: typeof fetch; timers?: Timers });
  request(request: { method: string; path: string; body?: string; session?: SessionFields }): Promise<{ status: number; body: string; retryAfter: number }>;
  stream(request: {
    path: string; session: SessionFields; lastEventID?: string; signal: AbortSignal; onText: (text: string) => void;
  }): Promise<{ status: number; retryAfter: number }>;
}

export interface Timers {
  setTimeout(body: () => void, milliseconds: number): any;
  clearTimeout(timer: any): void;
}

export interface Status {
  state: "signedOut" | "idle" | "syncing" | "offline";
  reason?: string;
}

/** Keeps a store and a server in step. */
export class SyncEngine {
  constructor(options: { store: Store; transport: Transport; app?: string; usesCookie?: boolean; streams?: boolean; timers?: Timers });
  readonly status: Status;
  start(): void;
  stop(): void;
  /** Syncs until nothing is left. Rejects with a SyncError when that is not possible now. */
  sync(): Promise<void>;
  /** The network is there again. */
  reachable(): void;
  onStatus(listener: (status: Status) => void): () => void;
  /** Signing up and in rejects with a ServerError, a SyncError, or a RangeError where the device has the data of another user; signing up, of any user. */
  signUp(name: string, password: string, device?: string): Promise<void>;
  signIn(name: string, password: string, device?: string): Promise<void>;
  signInWithToken(token: string, device?: string): Promise<void>;
  /** Signs in as a guest, with a pass of the user's home. */
  signInWithPass(pass: string, device?: string): Promise<void>;
  /** Rejects with a RangeError when edits, or what a restored server lacks, would be lost, unless `force`; the device then stays signed in. */
  signOut(options?: { erases?: boolean; force?: boolean }): Promise<void>;
  /** Any other request of the protocol. Rejects with a ServerError or a SyncError. */
  request(method: string, path: string, body?: object): Promise<any>;
}

/** The status of a folder: of each database that of its engine, null where there is none; and the names of the databases of which something is so. */
export interface FolderStatus {
  databases: { database: string; state: "open" | "failed"; sync: Status | null }[];
  waiting: number;
  quarantined: number;
  offline: string[];
  needsSignIn: string[];
  failed: string[];
}

/** Keeps each database of a folder in step with its servers. */
export class FolderEngine {
  /**
   * @param options `server`: home's address; or `transport`: the way to each database, null where there is none yet. `usesCookie`: of home. `tabs`: binds each
   *   store to other tabs.
   */
  constructor(options: {
    folder: StoreFolder; server?: string; transport?: (database: FolderDatabase) => Transport | null; app?: string; usesCookie?: boolean; streams?: boolean;
    timers?: Timers; tabs?: (storage: string, store: Store, engine: SyncEngine) => Tabs;
  });
  readonly status: FolderStatus;
  start(): void;
  stop(): void;
  /** The engine of a database; undefined when it is not open, or its address is not known. */
  engine(name: string): SyncEngine | undefined;
  /** Rejects as `StoreFolder.write`. */
  engineWith(zone: string): Promise<SyncEngine | undefined>;
  /** Makes an account at home, and follows home's directory. */
  signUp(name: string, password: string, device?: string): Promise<void>;
  /** Signs in at home, and in the other databases of home's directory in which the user is a guest. */
  signIn(name: string, password: string, device?: string): Promise<void>;
  signInWithToken(token: string, device?: string): Promise<void>;
  /** Follows the databases of home's directory in which the user is a guest. `start` and `sync` do so by themselves. */
  findDatabases(): Promise<void>;
  /** Adds a database of home's directory, to accept an invitation there. */
  join(name: string): Promise<SyncEngine>;
  /** Syncs each database once, side by side. Which could not be synced is in the result. */
  sync(): Promise<{ failures: { database: string; error: Error }[] }>;
  /** The network is there again. */
  reachable(): void;
  onStatus(listener: (status: FolderStatus) => void): () => void;
  /** Signs out of all databases. Rejects with a RangeError when edits would be lost, unless `force`: nothing has changed then. */
  signOut(options?: { erases?: boolean; force?: boolean }): Promise<void>;
  /** Removes a database other than home from this device. Rejects as `signOut`. */
  remove(name: string, options?: { force?: boolean }): Promise<void>;
}

/** Binds a store and its engine to the other tabs. */
export class Tabs {
  constructor(name: string, store: Store, engine: SyncEngine, browser?: { locks: LockManager; BroadcastChannel: typeof BroadcastChannel });
  readonly isLeader: boolean;
  start(): void;
  stop(): void;
  /** Syncs, in this tab or in the one that leads. Rejects with a SyncError when that is not possible now, or the tab that leads is suspended. */
  sync(): Promise<void>;
}

/** Opens the store of a page, and starts to sync. */
export function openBrowserStore(options: {
  name: string; schema: string | object | Schema; server?: string; app?: string; usesCookie?: boolean;
}): Promise<{ store: Store; engine: SyncEngine; tabs: Tabs }>;

/** Opens the folder of a page, and starts to sync. Home is the store of this name; `server` and `usesCookie` are home's. */
export function openBrowserFolder(options: {
  name: string; schema: string | object | Schema; server?: string; app?: string; usesCookie?: boolean;
}): Promise<{ folder: StoreFolder; engine: FolderEngine }>;

/** The id that everybody makes of the same names. */
export function derivedIdentifier(names: string[]): string;

/** A rule of the schema that a write breaks. */
export class WriteError extends Error {
  readonly code: string;
}

/**
 * Another version of the app has opened the database (`database-is-newer`), or the browser has closed it (`database-closed`): load the page again. Or another tab
 * has removed the user's data (`signed-out`): nothing was written. A folder also says that it can't tell where to write: `zone-ambiguous`, `cannot-open`.
 */
export class StoreError extends Error {
  readonly code: string;
}

/** The server refused a request. */
export class ServerError extends Error {
  readonly code: string;
  readonly problem: Problem;
}

/** The server can't be reached (`offline`), or nobody is signed in (`signed-out`). */
export class SyncError extends Error {
  readonly code: "offline" | "signed-out";
}
