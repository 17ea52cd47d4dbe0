// The page: the session, and the view that the address names.

import { element, visible } from "./elements.js";
import views from "./views.js";

const [status, view, signIn] = ["#status", "#view", "#sign-in"].map((selector) => document.querySelector(selector));
const signedInParts = document.querySelectorAll("header nav, header .actions");
const names = ["server", "charts", "log", "users", "devices", "zones", "records", "conflicts", "refusals", "recovery", "schema", "retention", "backups", "doctor", "audit"];
/** The name under which the session acts; null if it only reads, undefined if that is not known. */
let operator;
/** Counts the views, so that a late answer does not replace a newer one. */
let turn = 0;

class SignedOut extends Error {}

function say(text, isError = false) {
  status.textContent = visible(text);
  status.classList.toggle("error", isError);
}

/** Sends a request to the API, with the text of a JSON body. @returns its JSON, or null. */
async function send(method, path, body) {
  const headers = { "Holdfast-Session": "console" };
  if (body) headers["Content-Type"] = "application/json";
  const answer = await fetch(`api/${path}`, { method, headers, body, cache: "no-store" });
  const content = answer.status === 204 ? null : await answer.json();
  if (answer.ok) return content;
  const text = content.detail || content.title;
  if (answer.status === 401) throw new SignedOut(text);
  throw new Error(answer.status === 429 ? "Too many wrong tokens came from your address. Wait a while, and try again." : text);
}

function get(path, parameters = {}) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value));
  return send("GET", query.size > 0 ? `${path}?${query}` : path);
}

function go(name, id = "", parameters = {}) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value));
  const hash = `#/${name}/${encodeURIComponent(id)}${query.size > 0 ? `?${query}` : ""}`;
  if (location.hash === hash) show(false);
  else location.hash = hash;
}

/** What the address names: a view, an id, and parameters. */
function place() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?", 2);
  const [name, id] = path.split("/");
  return { name: names.includes(name) ? name : "server", id: decodeURIComponent(id ?? ""), ...Object.fromEntries(new URLSearchParams(query)) };
}

function showSession(isSignedIn) {
  for (const part of signedInParts) part.hidden = !isSignedIn;
  signIn.hidden = isSignedIn;
  view.hidden = !isSignedIn;
}

const post = (path, body) => send("POST", path, body);

/** Acts. @returns what shows the result, when the dialog is closed. */
async function act(action) {
  const { done } = await post("actions", JSON.stringify(action));
  return () => show(true, done);
}

/**
 * Shows what the address names.
 * @param movesFocus whether the focus goes to the title, as after a link.
 * @param message what is said of it.
 */
async function show(movesFocus, message = "") {
  const mine = ++turn;
  if (!message) say("Loading…");
  try {
    const here = place();
    if (operator === undefined) {
      ({ operator } = await get("session"));
      document.querySelector("#right").textContent = operator === null ? "Read-only" : `Acting as ${operator}`;
    }
    // A view whose content is not final is shown again.
    const again = () => setTimeout(() => { if (mine === turn) show(false, message); }, 1000);
    const [title, content] = await views[here.name](get, { ...here, go, post, again, act: operator === null ? null : act, show: (text) => show(false, text) });
    if (mine !== turn) return;
    showSession(true);
    for (const anchor of document.querySelectorAll("nav a")) {
      if (anchor.hash === `#/${here.name}`) anchor.setAttribute("aria-current", "page");
      else anchor.removeAttribute("aria-current");
    }
    document.title = `${title} – Holdfast console`;
    const heading = element("h1", { tabindex: -1 }, title);
    view.replaceChildren(heading, ...content.filter(Boolean));
    if (movesFocus) heading.focus();
    say(message);
  } catch (error) {
    if (mine !== turn) return;
    if (error instanceof SignedOut) {
      operator = undefined;
      const wasSignedIn = signIn.hidden && view.childElementCount > 0;
      view.replaceChildren();
      showSession(false);
      document.title = "Sign in – Holdfast console";
      say(wasSignedIn ? error.message : "", true);
      signIn.elements.token.focus();
    } else {
      showSession(true);
      say(error.message, true);
    }
  }
}

signIn.addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    await send("POST", "session", JSON.stringify({ token: signIn.elements.token.value.trim() }));
    operator = undefined;
    signIn.reset();
    show(true);
  } catch (error) {
    say(error.message, true);
    signIn.elements.token.select();
  }
});

document.querySelector("#refresh").addEventListener("click", () => show(false));
document.querySelector("#sign-out").addEventListener("click", async () => {
  await send("DELETE", "session").catch(() => {});
  view.replaceChildren();
  show(false);
});
document.querySelector(".skip").addEventListener("click", (event) => {
  // Its address is no view.
  event.preventDefault();
  document.querySelector("main").focus();
});
addEventListener("hashchange", () => show(true));
show(false);
