// The page of browser.test.js: opens a store, and leaves it to the test.

import { openBrowserStore } from "/client/index.js";

const schema = await (await fetch("/v1/schema")).text();
globalThis.opened = await openBrowserStore({ name: "test", schema, app: "test", usesCookie: !location.search.includes("bearer") });
