// What all parts of the page share: the store, elements, and words to the person.

import { openBrowserStore, SyncError } from "/client/index.js";

async function open() {
  const schema = await (await fetch("/v1/schema")).text();
  return openBrowserStore({ name: "jot", schema, app: "jot-web 1.0" });
}

export const { store, engine, tabs } = await open().catch((error) => {
  element("said").textContent = error.message;
  throw error;
});

/** The element of an id. */
export function element(id) {
  return document.getElementById(id);
}

/**
 * Makes an element.
 *
 * @param properties of the element; those whose names begin with "on" are listeners, those with "-" attributes.
 */
export function make(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name.includes("-") || name === "role" || name === "for") made.setAttribute(name, value);
    else made[name] = value;
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

let timer;

/** Tells the person something, for some seconds. */
export function say(text) {
  element("said").textContent = text;
  clearTimeout(timer);
  timer = setTimeout(() => { element("said").textContent = ""; }, 6000);
}

/** Runs what a person asked for; tells why it can't be done. */
export async function attempt(body) {
  try {
    return await body();
  } catch (error) {
    say(error instanceof SyncError && error.code === "offline" ? "There is no network. What you write is kept, and sent later." : error.message);
    return undefined;
  }
}

/** Writes in one transaction. @returns what `body` gives, or true; undefined when nothing was written. */
export function write(body) {
  return attempt(async () => await store.write(body) ?? true);
}

/** Writes what a field has, and empties it; it has it again when that fails. */
export async function take(field, body) {
  const text = field.value.trim();
  if (!text) return undefined;
  field.value = "";
  const made = await write((db) => body(db, text));
  if (!made) field.value = text + field.value;
  return made;
}

/** Whether a field has what is not written. */
export function isTyped(field) {
  return field.value !== field.defaultValue;
}

/** Shows a dialog. @param content given a function that closes it. */
export function ask(title, content) {
  const dialog = element("dialog");
  const close = () => dialog.close();
  delete dialog.dataset.is;
  dialog.replaceChildren(
    make("header", {}, make("h2", { id: "dialog-title", textContent: title }),
      make("button", { type: "button", className: "icon", "aria-label": "Close", textContent: "✕", onclick: close })),
    ...content(close));
  if (!dialog.open) dialog.showModal();
}

/** The word for a number of things. */
export function count(number, one, many = `${one}s`) {
  return `${number} ${number === 1 ? one : many}`;
}
