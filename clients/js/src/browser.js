// A store or a folder of a web page: IndexedDB, fetch, and one tab that syncs.

import { SyncEngine } from "./engine.js";
import { FolderEngine } from "./folder-engine.js";
import { home } from "./folder-list.js";
import { IndexedDBStorage } from "./indexeddb-storage.js";
import { StoreFolder } from "./store-folder.js";
import { Store } from "./store.js";
import { Tabs } from "./tabs.js";
import { FetchTransport } from "./transport.js";

/** Goes on when the network is there again, or the browser shows the page, which it may have frozen meanwhile. */
function follow(engine, catchUp) {
  addEventListener("online", () => engine.reachable());
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState !== "visible") return;
    catchUp().catch(() => {});
    engine.reachable();
  });
  // Else the browser may delete the database when its disk gets full.
  navigator.storage?.persist?.();
}

/**
 * Opens the store of a page, and starts to sync.
 *
 * @param options `name` of the database, `schema`, `server` (the page's own origin unless given), `app`, `usesCookie` (true for the page's own origin,
 *   as only there cookies go along).
 * @returns `{store, engine, tabs}`
 */
export async function openBrowserStore({ name, schema, server = location.origin, app, usesCookie = server === location.origin }) {
  const store = await Store.open({ storage: new IndexedDBStorage(name), schema });
  const engine = new SyncEngine({ store, transport: new FetchTransport(server), app, usesCookie });
  const tabs = new Tabs(name, store, engine);
  tabs.start();
  follow(engine, () => store.catchUp());
  return { store, engine, tabs };
}

/**
 * Opens the folder of a page, and starts to sync. Home is the store of the same name.
 *
 * @param options as for `openBrowserStore`; `server` and `usesCookie` are home's.
 * @returns `{folder, engine}`
 */
export async function openBrowserFolder({ name, schema, server = location.origin, app, usesCookie = server === location.origin }) {
  const called = (file) => (file === home ? name : `${name}/${file}`);
  const folder = await StoreFolder.open({ storage: (file) => new IndexedDBStorage(called(file)), schema });
  const tabs = (file, store, engine) => new Tabs(called(file), store, engine);
  const engine = new FolderEngine({ folder, server, app, usesCookie, tabs });
  const channel = new BroadcastChannel(`holdfast ${name}/folder`);
  channel.onmessage = () => { folder.follow().catch(() => {}); };
  folder.list.observers.add((kind) => { if (kind === "committed") channel.postMessage("committed"); });
  engine.start();
  follow(engine, () => folder.reload());
  return { folder, engine };
}
