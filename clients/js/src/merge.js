// What two edits of one column come to. Pure, and the same on every device and on the server. docs/PROTOCOL.md, section 5.1.
//
// Values are in the kept form: null, boolean, number or BigInt, text; a value of type json is its text.

import { compareBytes } from "./bytes.js";
import { parse, write } from "./json.js";
import { mergeTexts } from "./text-merge.js";

const combining = new Set(["counter", "set", "text"]);

/** Whether a policy makes one value of two edits. */
export function combines(policy) {
  return combining.has(policy);
}

/**
 * Makes one value of two edits of the same base.
 *
 * @param minePrevails whose words stand where both changed the same ones.
 * @returns `{value, isLossy}`, or null when the policy does not combine, or the values can't be combined.
 */
export function combined(policy, base, mine, theirs, minePrevails) {
  switch (policy) {
    case "counter": return sum(base, mine, theirs);
    case "set": return union(base, mine, theirs);
    case "text": return weave(base, mine, theirs, minePrevails);
    default: return null;
  }
}

const least = -(2n ** 63n);
const greatest = 2n ** 63n - 1n;

/** An integer as a number where that is exact, else as a BigInt. */
export function integer(value) {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : BigInt(value);
}

function exact(value) {
  if (value === null) return 0n;
  return typeof value === "bigint" || Number.isInteger(value) ? BigInt(value) : undefined;
}

function sum(base, mine, theirs) {
  const numbers = [base, mine, theirs].map(exact);
  if (numbers.includes(undefined)) return null;
  const increment = numbers[1] - numbers[0];
  const total = numbers[2] + increment;
  const isOver = (number) => number < least || number > greatest;
  return isOver(increment) || isOver(total) ? null : { value: integer(total), isLossy: false };
}

/** The elements of a set; null when a value is no set. */
export function elements(value) {
  if (value === null) return [];
  if (typeof value !== "string") return null;
  try {
    const array = parse(value);
    return Array.isArray(array) && array.every((element) => typeof element === "string") ? [...new Set(array)] : null;
  } catch {
    return null;
  }
}

function union(base, mine, theirs) {
  const sets = [base, mine, theirs].map(elements);
  if (sets.includes(null)) return null;
  const [before, own, other] = sets.map((set) => new Set(set));
  const all = new Set([...own, ...other]);
  const kept = [...all].filter((element) => !before.has(element) || (own.has(element) && other.has(element)));
  return { value: write(kept.sort(compareBytes)), isLossy: false };
}

function weave(base, mine, theirs, minePrevails) {
  if ([base, mine, theirs].some((text) => typeof text !== "string")) return null;
  if (mine === theirs || theirs === base) return { value: mine, isLossy: false };
  if (mine === base) return { value: theirs, isLossy: false };
  const merge = mergeTexts(base, mine, theirs, minePrevails);
  return { value: merge.text, isLossy: merge.isLossy };
}
