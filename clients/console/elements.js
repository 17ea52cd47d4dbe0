// What the views are made of. Every text comes in as a text node, so nothing of a user becomes markup.

/** A text without the characters that would show another order than is there: each is named in its place. */
export function visible(text) {
  return text.replace(/[\u202a-\u202e\u2066-\u2069]/g, (sign) => `‹U+${sign.codePointAt(0).toString(16).toUpperCase()}›`);
}

/** An element with attributes and children, which are nodes or texts. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== undefined && value !== null) made.setAttribute(key, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined).map((child) => child instanceof Node ? child : visible(String(child))));
  return made;
}

/** A link to a view of the console; an id as its text looks like one. */
export function link(text, ...path) {
  return element("a", { href: `#/${path.map(encodeURIComponent).join("/")}`, class: text === path.at(-1) && "id" }, text);
}

/**
 * A table with a caption.
 * @param columns each `[title, cell, isNumber]`; `cell` gives the content of a row's cell.
 */
export function table(caption, columns, rows) {
  const head = columns.map(([title, , isNumber]) => element("th", { scope: "col", class: isNumber && "number" }, title));
  const body = rows.map((row) => element("tr", {}, columns.map(([, cell, isNumber]) => element("td", { class: isNumber && "number" }, cell(row) ?? ""))));
  if (rows.length === 0) body.push(element("tr", {}, element("td", { colspan: columns.length, class: "empty" }, "None.")));
  // A region that scrolls must be reachable by the keyboard.
  return element("div", { class: "scroll", role: "region", "aria-label": caption, tabindex: 0 },
    element("table", {}, element("caption", {}, caption), element("thead", {}, element("tr", {}, head)), element("tbody", {}, body)));
}

/** Names with values. */
export function facts(pairs) {
  return element("dl", {}, pairs.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value ?? "–"))));
}

/** A form of fields `[name, label, value]`; `submit` gets an object of the texts. */
export function form(fields, button, submit) {
  const made = element("form", { class: "search", role: "search" },
    fields.map(([name, label, value]) => element("div", {}, element("label", { for: `field-${name}` }, label),
      element("input", { id: `field-${name}`, name, value: value ?? "", maxlength: 256, autocomplete: "off", spellcheck: "false" }))),
    element("button", { class: "primary" }, button));
  made.addEventListener("submit", (event) => {
    event.preventDefault();
    submit(Object.fromEntries(fields.map(([name]) => [name, made.elements[name].value.trim()])));
  });
  return made;
}

/** A link to the page after this one. */
export function nextPage(page, ...path) {
  return page.next ? element("p", {}, element("a", { href: `#/${path.map(encodeURIComponent).join("/")}?after=${encodeURIComponent(page.next)}` }, "Next page")) : null;
}

const wording = { behind: "warm", beginning: "warm", resync: "warm", "no access": "danger", unknown: "danger", "signed out": "danger", expired: "danger", deleted: "danger", departed: "warm", open: "warm", warning: "warm", error: "danger", "backup failed": "danger", removes: "warm", impossible: "danger" };

/** A state in words; its colour says nothing more. */
export function state(text) {
  return element("span", { class: `mark ${wording[text] ?? ""}` }, text);
}

export const number = (value) => value === null || value === undefined ? "–" : value.toLocaleString("en");
export function milliseconds(value) {
  if (value === null) return "–";
  return value >= 1000 ? `${(value / 1000).toFixed(1)} s` : `${value === 0 ? 0 : value < 10 ? value.toFixed(2) : Math.round(value)} ms`;
}

export function bytes(value) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  for (; value >= 1000 && unit < units.length - 1; unit++) value /= 1000;
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

/** A time of the server, to the second. */
export function time(text) {
  return text ? element("time", { datetime: text }, text.slice(0, 19).replace("T", " "), " UTC") : "–";
}

export function duration(seconds) {
  const [days, hours, minutes] = [Math.floor(seconds / 86400), Math.floor(seconds / 3600) % 24, Math.floor(seconds / 60) % 60];
  return days > 0 ? `${days} d ${hours} h` : hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min ${Math.floor(seconds) % 60} s`;
}
