// Jot on the web: the lists of the terminal app, in a page that works without a network.

import { lookForInvitations, showAccount, showInbox, showWelcome, updateInbox } from "./dialogs.js";
import { showLists } from "./lists.js";
import { attempt, count, element, engine, isTyped, say, store, tabs } from "./page.js";

if (navigator.serviceWorker) navigator.serviceWorker.register("service-worker.js");

function update() {
  const { isSignedIn, user } = store.account;
  // Whose session has ended still has the lists.
  element("app").hidden = !user;
  element("welcome").hidden = isSignedIn;
  // The main part of a page that has no lists.
  element("welcome").role = user ? "region" : "main";
  document.body.classList.toggle("signed-out", !isSignedIn);
  if (isSignedIn) element("welcome").replaceChildren();
  else showWelcome();
  for (const id of ["account", "undo", "redo"]) element(id).hidden = !user;
  element("undo").disabled = !store.undoable.undo;
  element("redo").disabled = !store.undoable.redo;
  updateStatus();
  updateInbox();
}

function updateStatus() {
  const waiting = store.waitingOperations;
  const { state } = engine.status;
  const unsent = waiting > 0 ? `, ${count(waiting, "edit")} to send` : "";
  const texts = { idle: waiting > 0 ? `${count(waiting, "edit")} to send` : "Synced", syncing: "Syncing…", offline: `Offline${unsent}`, signedOut: "Signed out" };
  const status = element("status");
  if (status.textContent !== texts[state]) status.textContent = texts[state];
  status.dataset.state = state;
  status.hidden = !store.account.user;
}

async function reverse(kind) {
  const result = await attempt(() => store[kind]());
  if (result?.kept > 0) say(`${count(result.kept, "record")} stayed: somebody has changed them since.`);
}

element("status").addEventListener("click", () => attempt(() => tabs.sync()));
element("undo").addEventListener("click", () => reverse("undo"));
element("redo").addEventListener("click", () => reverse("redo"));
element("account").addEventListener("click", showAccount);
element("inbox").addEventListener("click", showInbox);
addEventListener("keydown", (event) => {
  const isWriting = event.target.matches?.("textarea, input:not([type=checkbox])");
  if (isWriting || event.key.toLowerCase() !== "z" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  reverse(event.shiftKey ? "redo" : "undo");
});

function typedFields() {
  return [...document.querySelectorAll("#app textarea, #app input:not([type=checkbox])")].filter(isTyped);
}

// The browser may end a page that is hidden.
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "hidden") for (const field of typedFields()) field.dispatchEvent(new Event("change"));
});
addEventListener("beforeunload", (event) => { if (typedFields().length > 0) event.preventDefault(); });

showLists();
store.live((db) => db, update);
store.observers.add(() => queueMicrotask(update));
engine.onStatus((status) => {
  updateStatus();
  if (status.state === "signedOut") update();
  if (status.state === "idle") lookForInvitations();
});
lookForInvitations();
