// Values of columns. Pure. docs/PROTOCOL.md, section 1.
//
// The kept form of a value: null; a boolean; an integer as a number, beyond 2^53 as a BigInt; a real as a number; a text. A value of type json is kept as its text, since
// the server compares the bytes of it.

import { isWellFormed, utf8Length } from "./bytes.js";
import { parse, plain, Raw, Real, write } from "./json.js";
import { isPossibleIdentifier } from "./identifiers.js";
import { elements, integer } from "./merge.js";
import { isPosition } from "./position.js";
import { isTimestamp } from "./time.js";

/** How deep arrays and objects may nest in a value of JSON. */
const jsonDepthLimit = 32;
/** The greatest exponent of a number in a value of type json, either way: that of a double. */
const exponentLimit = 308;

/** A value that a column refuses, with a code of docs/PROTOCOL.md, section 10. */
export class ValueError extends Error {
  name = "ValueError";

  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/** Reads a value of the wire, as `parse` gives it, in the kept form. */
export function fromWire(column, value) {
  const wrong = () => new ValueError("invalid-value", `${column.name} must be of type ${column.type}.`);
  if (value === null) return null;
  switch (column.type) {
    case "json":
      return value instanceof Raw ? (value.text === "null" ? null : value.text) : write(value);
    case "boolean":
      if (typeof value !== "boolean") throw wrong();
      return value;
    case "integer":
      if (typeof value !== "number" && typeof value !== "bigint") throw wrong();
      return value;
    case "real":
      if (value instanceof Real) return value.value;
      if (typeof value !== "number" && typeof value !== "bigint") throw wrong();
      return Number(value);
    default:
      if (typeof value !== "string") throw wrong();
      return value;
  }
}

/** Reads the JSON text of a value, perhaps of when the column had another type, in the kept form. */
export function fromText(column, text) {
  try {
    return fromWire(column, column.type === "json" ? new Raw(text) : parse(text));
  } catch {
    return plain(parse(text));
  }
}

/** Whether a value in the kept form may be one of a column by its type, whatever the column's limits. */
export function isOfType(column, value) {
  if (value === null) return !column.required || column.absent === null;
  switch (column.type) {
    case "boolean": return typeof value === "boolean";
    case "integer": return typeof value === "bigint" || Number.isSafeInteger(value);
    case "real": return typeof value === "number";
    case "timestamp": return isText(value) && isTimestamp(value);
    case "position": return isText(value) && isPosition(value);
    case "json": return isText(value) && isJSON(value);
    default: return isText(value);
  }
}

function isText(value) {
  return typeof value === "string";
}

function isJSON(text) {
  try {
    parse(text);
    return true;
  } catch {
    return false;
  }
}

/** A value in the kept form as it is written to the wire: for `write`. */
export function toWire(column, value) {
  return column.type === "json" && value !== null ? new Raw(value) : value;
}

/**
 * A value of an app in the kept form: JSON columns take any value that JSON.stringify does; minus zero is 0.
 *
 * @param here the kept value that the app may have seen. JSON that the app did not change keeps its text, which may have more digits than its numbers.
 */
export function fromApp(column, value, here = null) {
  if (value === null || value === undefined) return null;
  if (column.type === "json") {
    const text = JSON.stringify(value);
    if (text === undefined) throw new ValueError("invalid-value", `${column.name} must be JSON.`);
    if (here !== null && text === JSON.stringify(toApp(column, here))) return here;
    return text === "null" ? null : text;
  }
  if (column.type === "timestamp" && value instanceof Date) {
    if (Number.isNaN(value.getTime())) throw new ValueError("invalid-value", `${column.name} must be a time.`);
    return value.toISOString();
  }
  if (typeof value === "bigint" && column.type === "integer") return integer(value);
  return Object.is(value, -0) ? 0 : value;
}

/** A value in the kept form for an app. */
export function toApp(column, value) {
  if (column.type !== "json" || value === null) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

const integerLimits = { least: -(2n ** 63n), greatest: 2n ** 63n - 1n };

/**
 * Checks a value in the kept form against the column's type and limits.
 *
 * @throws ValueError
 */
export function checkValue(column, value) {
  const fail = (code, what) => { throw new ValueError(code, `${column.name} ${what}`); };
  if (value === null) {
    if (column.required) fail("value-missing", "is required.");
    return;
  }
  if (typeof value === "string" && !isWellFormed(value)) fail("invalid-value", "must not have a lone surrogate.");
  const isText = typeof value === "string";
  switch (column.type) {
    case "text":
      if (isText) return checkText(column, value, fail);
      break;
    case "json":
      if (isText) return checkJSON(column, value, fail);
      break;
    case "integer":
      if (typeof value === "bigint" || Number.isSafeInteger(value)) {
        const [least, greatest] = [column.minimum ?? integerLimits.least, column.maximum ?? integerLimits.greatest];
        if (value < least || value > greatest) fail("invalid-value", `must be from ${least} to ${greatest}.`);
        return;
      }
      break;
    case "real":
      if (typeof value === "number") {
        if (!Number.isFinite(value)) fail("invalid-value", "must be finite.");
        return;
      }
      break;
    case "boolean":
      if (typeof value === "boolean") return;
      break;
    case "timestamp":
      if (isText && !isTimestamp(value)) fail("invalid-value", "must be a time like 2026-11-21T10:00:00.000Z.");
      if (isText) return;
      break;
    case "reference":
      if (isText && !isPossibleIdentifier(value)) fail("invalid-id", "must be the id of a record.");
      if (isText) return;
      break;
    case "position":
      if (isText && !isPosition(value)) fail("invalid-value", "is no position.");
      if (isText) return;
      break;
    default: break;
  }
  fail("invalid-value", `must be of type ${column.type}.`);
}

function checkText(column, text, fail) {
  if (text.includes("\0")) fail("invalid-value", "must not contain the character U+0000.");
  const limit = column.maximumLength ?? 10_000;
  // Characters are counted only when the units could be too many.
  if (text.length > limit && [...text].length > limit) fail("value-too-long", `has more than ${limit} characters.`);
  if (column.oneOf.length > 0 && !column.oneOf.includes(text)) fail("invalid-value", `must be one of ${column.oneOf.join(", ")}.`);
}

function checkJSON(column, text, fail) {
  if (utf8Length(text) > 100_000) fail("value-too-long", "has more than 100000 bytes.");
  let value;
  try {
    value = parse(text, { maximumDepth: jsonDepthLimit });
  } catch (error) {
    fail("invalid-value", error.message.startsWith("Too deep") ? `nests deeper than ${jsonDepthLimit}.` : "must be JSON.");
  }
  // Some databases write numbers out: a few bytes would become a hundred thousand.
  const outside = text.replace(/"(?:[^"\\]|\\.)*"/g, "");
  if ([...outside.matchAll(/[eE][+-]?(\d+)/g)].some(([, digits]) => Number(digits) > exponentLimit)) {
    fail("invalid-value", `has a number with an exponent beyond ${exponentLimit}.`);
  }
  if (column.merge === "set" && !(elements(text)?.length === value?.length && Array.isArray(value))) {
    fail("invalid-value", "must be an array of texts, each once.");
  }
}
