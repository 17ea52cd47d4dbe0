// Keeps the files of Jot for the time without a network, as whole versions. A page has all files of one version; a new one is for the pages after it.

const files = [
  "/", "/jot.css", "/jot.js", "/page.js", "/lists.js", "/items.js", "/dialogs.js", "/manifest.webmanifest", "/icon.svg",
  "/service-worker.js", "/v1/schema", "/client/index.js",
  ...["answer", "applying", "awaiting", "browser", "bytes", "engine", "entries", "erasing", "event-parser", "event-stream", "folder-directory", "folder-engine", "folder-list",
    "folder-stores", "history", "identifiers", "indexeddb-storage", "json", "memory-storage", "merge", "operations", "position", "quarantine", "reading", "recovery",
    "request-size", "requests", "resending", "schema", "schema-change", "sealing", "sessions", "shapes", "state", "store", "store-error", "store-folder",
    "sync-machine", "tabs", "text-difference", "text-merge", "time", "transaction", "transport", "unapplied", "undo", "values", "write-error",
    "zones"].map((name) => `/client/src/${name}.js`),
];

/** What else answers, such as a page of a proxy, has another type. */
const types = { js: "text/javascript", css: "text/css", webmanifest: "application/manifest+json", svg: "image/svg+xml", "/": "text/html", "/v1/schema": "application/json" };

/** The names of the whole versions, the newest first. */
async function versions() {
  const names = (await caches.keys()).filter((name) => name.startsWith("jot ")).reverse();
  const marks = await Promise.all(names.map((name) => caches.match("/complete", { cacheName: name })));
  return names.filter((_, index) => marks[index]);
}

/** Fetches all files. @returns the answers, in the order of `files`. */
function fetchAll() {
  return Promise.all(files.map(async (file) => {
    const answer = await fetch(file, { cache: "no-cache", redirect: "error" });
    const type = types[file] ?? types[file.split(".").at(-1)];
    if (!answer.ok || !answer.headers.get("ETag") || !answer.headers.get("Content-Type")?.startsWith(type)) throw new TypeError(`${file} is not Jot's.`);
    return answer;
  }));
}

/** Whether answers have the same content. Servers behind one address have tags of their own for the same file. */
async function areSame(answers, others) {
  const [texts, otherTexts] = await Promise.all([answers, others].map((answers) => Promise.all(answers.map((answer) => answer?.clone().text()))));
  return texts.every((text, index) => text === otherTexts[index]);
}

/** Keeps the files as a new version where one has changed. Another worker than this one knows its own files. */
async function refresh(isInstall) {
  const [current] = await versions();
  const kept = current ? await Promise.all(files.map((file) => caches.match(file, { cacheName: current }))) : [];
  const answers = await fetchAll();
  const worker = files.indexOf("/service-worker.js");
  if (await areSame(answers, kept) || (!isInstall && !await areSame([answers[worker]], [kept[worker]]))) return;
  // The files may be replaced on the server while they are fetched.
  if (!await areSame(answers, await fetchAll())) throw new TypeError("The files change at this moment.");
  const name = `jot ${new Date().toISOString()}`;
  const cache = await caches.open(name);
  await Promise.all(files.map((file, index) => cache.put(file, answers[index])));
  await cache.put("/complete", new Response());
  // Pages that have just begun may still load files of the version before.
  for (const other of await caches.keys()) if (other.startsWith("jot ") && other !== name && other !== current) await caches.delete(other);
}

/** Looks for a new version, for one page at a time. A look that waits for another will see what the server has then: a third one is not needed. */
async function look() {
  const { pending } = await navigator.locks.query();
  if (!pending.some(({ name }) => name === "files")) await navigator.locks.request("files", () => refresh(false));
}

/** Notes the version that a page has begun with. This worker may end, or give way to another, while the page loads. */
async function begin(page) {
  const [current] = await versions();
  if (!current) return;
  const pages = await caches.open("pages");
  await pages.put(`/${page}`, new Response(current));
  for (const old of (await pages.keys()).slice(0, -100)) await pages.delete(old);
}

/** A file of the version that a page has begun with. */
async function kept(page, path) {
  const version = await caches.match(`/${page}`, { cacheName: "pages" });
  return version && caches.match(path, { cacheName: await version.text() });
}

addEventListener("install", (event) => event.waitUntil(navigator.locks.request("files", () => refresh(true)).then(() => skipWaiting())));
addEventListener("activate", (event) => event.waitUntil(clients.claim()));

addEventListener("fetch", (event) => {
  const { origin, pathname } = new URL(event.request.url);
  const isPage = event.request.mode === "navigate";
  // Other pages of this origin, such as the console, are none of Jot's.
  if (event.request.method !== "GET" || origin !== location.origin || !(isPage ? pathname === "/" : files.includes(pathname))) return;
  event.respondWith((async () => {
    // On a full disk all comes from the server.
    if (isPage) await begin(event.resultingClientId).catch(() => {});
    return await kept(isPage ? event.resultingClientId : event.clientId, pathname) ?? fetch(event.request);
  })());
  if (isPage) event.waitUntil(look().catch(() => {}));
});
