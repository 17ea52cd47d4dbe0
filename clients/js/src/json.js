// JSON as the protocol has it: strict, with exact 64-bit integers, and with the source text of values where it matters. Pure.
//
// JSON.parse keeps neither integers beyond 2^53 nor the bytes of a value of type `json`, and takes objects that name a member twice.

import { isWellFormed } from "./bytes.js";

/** A number that was written with a fraction or an exponent. `1.0` is no integer to the server. */
export class Real {
  constructor(value) {
    this.value = value;
  }
}

/** A value that is kept as its text. */
export class Raw {
  constructor(text) {
    this.text = text;
  }
}

const least = -(2n ** 63n);
const greatest = 2n ** 63n - 1n;

class Parser {
  constructor(text, maximumDepth, isRaw) {
    this.text = text;
    this.place = 0;
    this.depth = 0;
    this.maximumDepth = maximumDepth;
    this.isRaw = isRaw;
    this.path = [];
  }

  fail(what) {
    throw new SyntaxError(`${what} at ${this.place}`);
  }

  space() {
    for (;;) {
      const unit = this.text.charCodeAt(this.place);
      if (unit !== 0x20 && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) return;
      this.place += 1;
    }
  }

  value() {
    this.space();
    const start = this.place;
    const value = this.plainValue();
    return this.isRaw?.(this.path) ? new Raw(this.text.slice(start, this.place)) : value;
  }

  plainValue() {
    switch (this.text[this.place]) {
      case "{": return this.nested(() => this.object());
      case "[": return this.nested(() => this.array());
      case '"': return this.string();
      case "t": return this.word("true", true);
      case "f": return this.word("false", false);
      case "n": return this.word("null", null);
      default: return this.number();
    }
  }

  nested(read) {
    if (this.depth === this.maximumDepth) this.fail("Too deep");
    this.depth += 1;
    this.place += 1;
    const value = read();
    this.depth -= 1;
    return value;
  }

  object() {
    const members = new Map();
    this.space();
    if (this.text[this.place] === "}") return this.end(members);
    for (;;) {
      this.space();
      if (this.text[this.place] !== '"') this.fail("No name of a member");
      const name = this.string();
      if (members.has(name)) this.fail("A member that is there twice");
      this.space();
      if (this.text[this.place] !== ":") this.fail("No colon");
      this.place += 1;
      this.path.push(name);
      members.set(name, this.value());
      this.path.pop();
      this.space();
      if (this.text[this.place] === "}") return this.end(members);
      if (this.text[this.place] !== ",") this.fail("No comma");
      this.place += 1;
    }
  }

  array() {
    const elements = [];
    this.space();
    if (this.text[this.place] === "]") return this.end(elements);
    for (;;) {
      this.path.push(elements.length);
      elements.push(this.value());
      this.path.pop();
      this.space();
      if (this.text[this.place] === "]") return this.end(elements);
      if (this.text[this.place] !== ",") this.fail("No comma");
      this.place += 1;
    }
  }

  end(value) {
    this.place += 1;
    return value;
  }

  word(word, value) {
    if (!this.text.startsWith(word, this.place)) this.fail("No value");
    this.place += word.length;
    return value;
  }

  string() {
    const start = this.place;
    for (let place = start + 1; ; place++) {
      const unit = this.text.charCodeAt(place);
      if (unit === 0x5c) place += 1;
      else if (unit === 0x22) {
        this.place = place + 1;
        break;
      } else if (!(unit >= 0x20)) this.fail("A string without end, or with a control character");
    }
    // The escapes of JSON.parse are those of RFC 8259.
    const text = JSON.parse(this.text.slice(start, this.place));
    if (!isWellFormed(text)) this.fail("A lone surrogate");
    return text;
  }

  number() {
    const pattern = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
    pattern.lastIndex = this.place;
    const match = pattern.exec(this.text);
    if (!match) this.fail("No value");
    this.place = pattern.lastIndex;
    if (match[1] === undefined && match[2] === undefined) {
      const number = Number(match[0]);
      if (Number.isSafeInteger(number)) return number === 0 ? 0 : number;
      const exact = BigInt(match[0]);
      if (exact >= least && exact <= greatest) return exact;
    }
    const real = Number(match[0]);
    if (!Number.isFinite(real)) this.fail("A number beyond the finite doubles");
    return new Real(real === 0 ? 0 : real);
  }
}

/**
 * Reads a JSON text. Objects become maps; integers beyond 2^53 become BigInt; numbers with a fraction or an exponent become `Real`.
 *
 * @param isRaw given the path of a value, tells whether its text is wanted instead; it comes as `Raw`.
 * @throws SyntaxError
 */
export function parse(text, { maximumDepth = 64, isRaw } = {}) {
  const parser = new Parser(text, maximumDepth, isRaw);
  const value = parser.value();
  parser.space();
  if (parser.place !== text.length) parser.fail("Something behind the value");
  return value;
}

/** Writes what `parse` gives, and plain objects and numbers, without spaces. */
export function write(value) {
  if (value === null || value === undefined) return "null";
  switch (typeof value) {
    case "string": return writeString(value);
    case "bigint": return value.toString();
    case "boolean": return String(value);
    case "number":
      if (!Number.isFinite(value)) return "null";
      return Object.is(value, -0) ? "0" : String(value);
    default: break;
  }
  if (value instanceof Raw) return value.text;
  if (value instanceof Real) return write(value.value);
  if (Array.isArray(value)) return `[${value.map(write).join(",")}]`;
  const members = value instanceof Map ? [...value] : Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([name, member]) => `${writeString(name)}:${write(member)}`).join(",")}}`;
}

function writeString(text) {
  if (!isWellFormed(text)) throw new RangeError("A text with a lone surrogate can't be sent.");
  return JSON.stringify(text);
}

/** A value of `parse` as plain objects, arrays and numbers: for what is no record. */
export function plain(value) {
  if (value instanceof Map) {
    const object = Object.create(null);
    for (const [name, member] of value) object[name] = plain(member);
    return object;
  }
  if (Array.isArray(value)) return value.map(plain);
  return value instanceof Real ? value.value : value;
}
