// A store of a web page: IndexedDB, fetch, and one tab that syncs.

import { SyncEngine } from "./engine.js";
import { IndexedDBStorage } from "./indexeddb-storage.js";
import { Store } from "./store.js";
import { Tabs } from "./tabs.js";
import { FetchTransport } from "./transport.js";

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
  addEventListener("online", () => engine.reachable());
  // The browser may have frozen the page meanwhile.
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState !== "visible") return;
    store.catchUp();
    engine.reachable();
  });
  // Else the browser may delete the database when its disk gets full.
  navigator.storage?.persist?.();
  return { store, engine, tabs };
}
