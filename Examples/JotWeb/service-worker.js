// Keeps the files of Jot for the time without a network. A new version takes the place of the old one as a whole, at the next start.

const files = [
  "/", "/jot.css", "/jot.js", "/page.js", "/lists.js", "/items.js", "/dialogs.js", "/manifest.webmanifest", "/icon.svg", "/v1/schema", "/client/index.js",
  ...["answer", "applying", "browser", "bytes", "engine", "event-parser", "event-stream", "history", "identifiers", "indexeddb-storage", "json",
    "memory-storage", "merge", "operations", "position", "quarantine", "reading", "recovery", "request-size", "requests", "schema", "schema-change", "sealing",
    "sessions", "shapes", "state", "store", "store-error", "sync-machine", "tabs", "text-difference", "text-merge", "time", "transaction", "transport",
    "unapplied", "undo", "values", "write-error", "zones"].map((name) => `/client/src/${name}.js`),
];

/** The latest cache that has all files; undefined when there is none. */
async function currentCache() {
  for (const name of (await caches.keys()).sort().reverse()) {
    const cache = await caches.open(name);
    if (await cache.match("/complete")) return cache;
  }
  return undefined;
}

/** Fetches all files. Where one has changed they are a new version. */
async function refresh() {
  const answers = await Promise.all(files.map(async (file) => {
    const answer = await fetch(file, { cache: "no-cache" });
    if (!answer.ok) throw new Error(`${file}: ${answer.status}`);
    return [file, answer];
  }));
  const old = await currentCache();
  const same = await Promise.all(answers.map(async ([file, answer]) =>
    (await old?.match(file))?.headers.get("ETag") === answer.headers.get("ETag")));
  if (old && same.every(Boolean)) return;
  const name = `jot ${new Date().toISOString()}`;
  const cache = await caches.open(name);
  await Promise.all(answers.map(([file, answer]) => cache.put(file, answer)));
  await cache.put("/complete", new Response());
  for (const other of await caches.keys()) if (other !== name) await caches.delete(other);
}

addEventListener("install", (event) => event.waitUntil(refresh().then(() => skipWaiting())));
addEventListener("activate", (event) => event.waitUntil(clients.claim()));

addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  if (event.request.method !== "GET" || url.origin !== location.origin) return;
  const path = event.request.mode === "navigate" ? "/" : url.pathname;
  if (!files.includes(path)) return;
  event.respondWith((async () => {
    const kept = await (await currentCache())?.match(path);
    return kept ?? fetch(event.request);
  })());
  if (event.request.mode === "navigate") event.waitUntil(refresh().catch(() => {}));
});
