// The items of a list.

import { ask, isTyped, make, say, store, write } from "./page.js";

/** The rows of the list that is shown. They stay as the items change, so that nobody loses the place while typing. */
export class Items {
  constructor(list) {
    this.list = list;
    this.rows = new Map();
    this.element = make("ol", { className: "items", "aria-label": "Items" });
  }

  update(items) {
    const known = new Set(items.map(({ id }) => id));
    for (const [id, row] of this.rows) {
      // What was typed into an item that somebody has deleted can still be copied.
      if (known.has(id) || row.isTyped) continue;
      row.element.remove();
      this.rows.delete(id);
      // The pointer lets go of it without an event.
      if (this.dragged === row) this.dragged = null;
    }
    if (this.dragged) return;
    items.forEach((item, index) => {
      let row = this.rows.get(item.id);
      if (!row) this.rows.set(item.id, row = new Row(this, item.id));
      row.update(item, index, items.length);
      this.put(row.element, index);
    });
  }

  /** Brings a row to its place. The row that has the focus would lose it by being moved: the others move. */
  put(row, index) {
    const { children } = this.element;
    if (children[index] === row) return;
    if (row.contains(document.activeElement)) while (children[index] !== row) this.element.append(children[index]);
    else this.element.insertBefore(row, children[index] ?? null);
  }

  /** Moves an item by some places, as the arrow keys do. */
  async shift(id, by) {
    const ids = store.reader().list("items", this.list).map((item) => item.id);
    const index = ids.indexOf(id) + by;
    if (index < 0 || index >= ids.length) return;
    if (!await write((db) => db.move("items", [id], by < 0 ? { before: ids[index] } : { after: ids[index] }))) return;
    say(`${this.rows.get(id).title.value}: place ${index + 1} of ${ids.length}`);
  }

  /** Drags a row by its handle, with a mouse, a pen or a finger. */
  drag(row, { target, pointerId }) {
    const controller = new AbortController();
    const { signal } = controller;
    this.dragged = row;
    row.element.classList.add("dragged");
    target.setPointerCapture(pointerId);
    target.addEventListener("pointermove", ({ clientY }) => {
      const rows = [...this.element.children].filter((other) => other !== row.element);
      this.place(row.element, rows.find((other) => clientY < other.getBoundingClientRect().top + other.offsetHeight / 2) ?? null);
    }, { signal });
    const end = (isDropped) => {
      controller.abort();
      row.element.classList.remove("dragged");
      this.dropped(row, isDropped);
    };
    target.addEventListener("pointerup", () => end(true), { signal });
    target.addEventListener("pointercancel", () => end(false), { signal });
  }

  /** Brings a row before another, or to the end, by moving those between: the row itself stays in the page, and keeps the pointer. */
  place(row, next) {
    const rows = [...this.element.children];
    const [from, to] = [rows.indexOf(row), next ? rows.indexOf(next) : rows.length];
    const behind = row.nextElementSibling;
    if (to < from) for (const other of rows.slice(to, from)) this.element.insertBefore(other, behind);
    else for (const other of rows.slice(from + 1, to)) this.element.insertBefore(other, row);
  }

  /** Keeps the place to which a row was dragged. */
  async dropped(row, isDropped) {
    const ids = store.reader().list("items", this.list).map((item) => item.id);
    const next = ids.find((id) => id === row.element.nextElementSibling?.dataset.id);
    const isElsewhere = ids[ids.indexOf(row.id) + 1] !== next;
    if (isDropped && isElsewhere && ids.includes(row.id)) {
      await write((db) => db.move("items", [row.id], next ? { before: next } : "last"));
    }
    this.dragged = null;
    this.update(store.reader().list("items", this.list));
  }
}

/**
 * A text field that writes what it has when it is left. What was typed stays until it is written, with the value that the person saw before: what others
 * write meanwhile is merged with it.
 *
 * @param asks whether the person chooses when somebody has written another value meanwhile.
 * @returns a function that shows a value, unless something is typed.
 */
function bind(field, id, column, { read = (text) => text, show = (value) => value ?? "", asks = false } = {}) {
  let [seen, writes] = [null, Promise.resolve()];
  const display = (value) => {
    seen = value;
    const { selectionStart: cursor, value: { length } } = field;
    field.value = show(value);
    // The browser puts it at the end.
    if (document.activeElement === field && cursor < length) field.setSelectionRange(cursor, cursor);
    // The browser may have changed the line breaks.
    field.defaultValue = field.value;
  };
  const save = async () => {
    if (!isTyped(field)) return;
    const item = store.get("items", id);
    if (!item) return say("Somebody has deleted this item. What you typed is not kept: copy it before you leave the list.");
    const text = field.value;
    const value = read(text, seen);
    const theirs = item[column];
    if (!asks || theirs === seen || theirs === value) return keep(text, value);
    choose(theirs, () => display(theirs), () => {
      // The person knows of it by now.
      seen = theirs;
      keep(text, value);
    });
  };
  const keep = async (text, value) => {
    const base = seen;
    if (!await write((db) => db.update("items", id, { [column]: value }, { [column]: base }))) return;
    if (field.value === text) return display(store.get("items", id)?.[column] ?? null);
    // The person has typed on, on top of what is written.
    [seen, field.defaultValue] = [value, text];
  };
  for (const event of ["change", "blur"]) field.addEventListener(event, () => { writes = writes.then(save); });
  return (value) => { if (!isTyped(field)) display(value); };
}

/** Lets the person choose between what somebody has written and what is typed. */
function choose(theirs, takeTheirs, takeTyped) {
  ask("Somebody has changed this", (close) => {
    const answer = (textContent, take) => make("button", { type: "button", textContent, onclick: () => { close(); take(); } });
    return [make("div", { className: "buttons" }, answer(`Keep “${theirs}”`, takeTheirs), answer("Take what I typed", takeTyped))];
  });
}

/** The tags of a text. Other apps may write tags that have commas: those that were shown, and are in the text still, stay whole. */
function tags(text, seen) {
  const whole = (seen ?? []).filter((tag) => tag.includes(",") && text.includes(tag));
  const rest = whole.reduce((rest, tag) => rest.replace(tag, () => ""), text);
  const found = [...new Set([...whole, ...rest.split(",").map((tag) => tag.trim()).filter(Boolean)])];
  return found.length > 0 ? found : null;
}

class Row {
  constructor(items, id) {
    this.items = items;
    this.id = id;
    this.handle = make("button", {
      type: "button", className: "handle", textContent: "⠿", title: "Drag, or press the arrow keys",
      onkeydown: (event) => {
        const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
        if (!by) return;
        event.preventDefault();
        items.shift(id, by);
      },
      onpointerdown: (event) => { if (event.button === 0 && !items.dragged) items.drag(this, event); },
    });
    this.done = make("input", { type: "checkbox", onchange: () => write((db) => db.update("items", id, { done: this.done.checked })) });
    this.title = make("textarea", {
      className: "title", rows: 1, maxLength: 500, required: true, "aria-label": "Title", autocomplete: "off",
      onkeydown: (event) => {
        if (event.key !== "Enter") return;
        event.preventDefault();
        event.target.blur();
      },
    });
    this.amount = make("output", { className: "amount" });
    this.tagText = make("span", { className: "tags" });
    this.mark = make("span", { className: "mark", role: "img", "aria-label": "Not sent yet", title: "Not sent yet", textContent: "↑" });
    this.more = make("button", {
      type: "button", className: "icon more", textContent: "⋯", "aria-expanded": "false",
      onclick: () => this.expand(this.details.hidden),
    });
    this.details = this.makeDetails();
    this.element = make("li", {}, make("div", { className: "row" }, this.handle, this.done, this.title, this.tagText, this.mark, this.amount, this.more), this.details);
    this.element.dataset.id = id;
    this.setTitle = bind(this.title, id, "title", { asks: true, read: (text) => text.trim() || store.get("items", id).title });
    this.setNote = bind(this.note, id, "note", { read: (text) => text || null });
    this.setTags = bind(this.tags, id, "tags", { read: tags, show: (value) => (value ?? []).join(", ") });
  }

  get isTyped() {
    return [this.title, this.note, this.tags].some(isTyped);
  }

  makeDetails() {
    const { id } = this;
    const change = (by, label, text) => make("button", {
      type: "button", textContent: text, "aria-label": label,
      onclick: () => write((db) => { if ((db.get("items", id)?.amount ?? 0) + by >= 0) db.increment("items", id, "amount", by); }),
    });
    this.count = make("output", { "aria-live": "polite" });
    this.note = make("textarea", {
      rows: 3, placeholder: "Note", "aria-label": "Note",
      // A long text is written at each pause: nobody knows how the page will end.
      oninput: ({ target }) => {
        clearTimeout(this.pause);
        this.pause = setTimeout(() => target.dispatchEvent(new Event("change")), 1000);
      },
    });
    this.tags = make("input", { placeholder: "Tags, with commas between", "aria-label": "Tags, with commas between", autocomplete: "off" });
    return make("div", { className: "details", hidden: true },
      make("div", { className: "stepper", role: "group", "aria-label": "Amount" }, change(-1, "One less", "−"), this.count, change(1, "One more", "+")),
      this.tags, this.note,
      make("button", { type: "button", className: "danger", textContent: "Delete", onclick: () => this.delete() }));
  }

  expand(isOpen) {
    this.details.hidden = !isOpen;
    this.more.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) this.tags.focus();
  }

  async delete() {
    if (await write((db) => db.delete("items", this.id))) say("The item is deleted. Undo brings it back.");
  }

  update(item, index, all) {
    this.element.classList.toggle("done", item.done);
    this.done.checked = item.done;
    this.done.setAttribute("aria-label", `${item.title}, done`);
    this.handle.setAttribute("aria-label", `Move ${item.title}, place ${index + 1} of ${all}`);
    this.more.setAttribute("aria-label", `Details of ${item.title}`);
    this.setTitle(item.title);
    this.setNote(item.note);
    this.setTags(item.tags);
    this.amount.textContent = item.amount === 1 ? "" : `× ${item.amount}`;
    this.count.textContent = item.amount;
    this.tagText.replaceChildren(...(item.tags ?? []).map((tag) => make("span", { textContent: tag })));
    this.mark.hidden = store.reader().unsent("items", item.id).length === 0;
  }
}
