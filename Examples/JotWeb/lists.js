// The lists, and the one that is shown.

import { showSharing } from "./dialogs.js";
import { Items } from "./items.js";
import { ask, element, isTyped, make, say, store, take, write } from "./page.js";

let shown = null;

/** The id of the list in the address. */
function chosen() {
  return location.hash.slice(1) || null;
}

/** Shows the lists, and keeps to what is in the store. */
export function showLists() {
  element("new-list").addEventListener("submit", async (event) => {
    event.preventDefault();
    const list = await take(event.target.elements.title, (db, title) => db.insert("lists", { title }));
    if (list) location.hash = list;
  });
  element("back").addEventListener("click", () => { location.hash = ""; });
  addEventListener("hashchange", () => update());
  store.live((db) => db, () => update(), { tables: ["lists", "items", "members", "conflicts"] });
  // What is sent by now has no mark any more.
  store.observers.add((kind) => { if (kind !== "written") queueMicrotask(update); });
}

function update() {
  const db = store.reader();
  const lists = db.all("lists", { order: ["title"] });
  const id = chosen();
  const list = lists.find((list) => list.id === id);
  // What was typed into a list that somebody has deleted can still be copied.
  const isKept = !list && shown?.id === id && shown.user === store.account.user && shown.isTyped;
  document.body.classList.toggle("showing", Boolean(list) || isKept);
  element("back").hidden = !list && !isKept;
  element("lists").replaceChildren(...lists.map((list) => {
    const open = db.all("items", { where: { list_id: list.id, done: false } }).length;
    const members = db.all("members", { where: { zone: list.id } }).length;
    const words = [list.title, members > 1 ? `shared by ${members}` : null, `${open} to do`].filter(Boolean).join(", ");
    return make("li", {}, make("a", { href: `#${list.id}`, "aria-label": words, "aria-current": list.id === id ? "page" : undefined },
      make("span", { textContent: list.title }),
      members > 1 ? make("span", { className: "shared", title: `Shared by ${members}`, textContent: "⚭" }) : null,
      make("span", { className: "count", textContent: open || "" })));
  }));
  if (isKept) return shown.items.update([]);
  if (!list) {
    shown = null;
    element("main").replaceChildren(make("p", {
      className: "empty", textContent: lists.length === 0 ? "Make your first list. It works without a network, too." : "Choose a list.",
    }));
    return;
  }
  if (shown?.id !== id) shown = new List(id);
  shown.update(list, db.list("items", id));
}

class List {
  constructor(id) {
    this.id = id;
    this.user = store.account.user;
    this.items = new Items(id);
    this.title = make("h2");
    this.empty = make("p", { className: "empty", textContent: "Nothing here yet." });
    const add = make("form", { className: "add", onsubmit: (event) => this.add(event) },
      make("input", { name: "title", required: true, maxLength: 500, placeholder: "Add an item", "aria-label": "Title of a new item", autocomplete: "off" }),
      make("button", { type: "submit", textContent: "+", "aria-label": "Add the item" }));
    element("main").replaceChildren(
      make("div", { className: "heading" }, this.title,
        make("button", { type: "button", textContent: "Share", onclick: () => showSharing(id) }),
        make("button", { type: "button", textContent: "Rename", onclick: () => this.rename() }),
        make("button", { type: "button", textContent: "Delete", className: "danger", onclick: () => this.delete() })),
      this.items.element, this.empty, add);
  }

  get isTyped() {
    return [...element("main").querySelectorAll("textarea, input:not([type=checkbox])")].some(isTyped);
  }

  update(list, items) {
    this.title.textContent = list.title;
    this.empty.hidden = items.length > 0;
    this.items.update(items);
  }

  add(event) {
    event.preventDefault();
    take(event.target.elements.title, (db, title) => db.insert("items", {
      list_id: this.id, title, position: db.positions("items", 1, "last", { parent: this.id })[0],
    }));
  }

  rename() {
    ask("Rename the list", (close) => {
      const field = make("input", { name: "title", required: true, maxLength: 200, value: this.title.textContent, "aria-label": "Title" });
      return [make("form", {
        onsubmit: async (event) => {
          event.preventDefault();
          const title = field.value.trim() || this.title.textContent;
          if (await write((db) => db.update("lists", this.id, { title }))) close();
        },
      }, field, make("button", { type: "submit", className: "primary", textContent: "Rename" }))];
    });
  }

  async delete() {
    if (!await write((db) => db.delete("lists", this.id))) return;
    location.hash = "";
    say("The list is deleted. Undo brings it back.");
  }
}
