// A client of Holdfast for browsers and Node: docs/CLIENTS.md.

export { openBrowserFolder, openBrowserStore } from "./src/browser.js";
export { SyncEngine } from "./src/engine.js";
export { FolderEngine } from "./src/folder-engine.js";
export { derivedIdentifier } from "./src/identifiers.js";
export { IndexedDBStorage } from "./src/indexeddb-storage.js";
export { MemoryStorage } from "./src/memory-storage.js";
export { Schema } from "./src/schema.js";
export { Store } from "./src/store.js";
export { StoreError } from "./src/store-error.js";
export { StoreFolder } from "./src/store-folder.js";
export { Tabs } from "./src/tabs.js";
export { WriteError } from "./src/write-error.js";
export { FetchTransport, ServerError, SyncError } from "./src/transport.js";
