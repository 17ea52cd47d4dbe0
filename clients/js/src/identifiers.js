// Ids of records. Pure; the caller brings the time and the randomness. docs/PROTOCOL.md, section 1.

import { isWellFormed, utf8, utf8Length } from "./bytes.js";

function uuid(high, low) {
  const digits = high.toString(16).padStart(16, "0") + low.toString(16).padStart(16, "0");
  return [digits.slice(0, 8), digits.slice(8, 12), digits.slice(12, 16), digits.slice(16, 20), digits.slice(20)].join("-");
}

/**
 * Makes a lower-case UUID of version 7: RFC 9562, section 5.7.
 *
 * @param random two BigInts of 64 random bits.
 */
export function makeIdentifier(milliseconds, random) {
  const high = BigInt.asUintN(64, (BigInt(milliseconds) << 16n) | 0x7000n | (random[0] & 0x0fffn));
  return uuid(high, 0x8000000000000000n | (random[1] & 0x3fffffffffffffffn));
}

/**
 * The id that everybody makes of the same names: a UUID of version 8, from the SHA-256 of them. For rows that exist once for each user
 * of a shared record: docs/PROTOCOL.md, section 5.1.
 */
export function derivedIdentifier(names) {
  const hash = sha256(utf8(names.map((name) => `${utf8Length(name)}:${name}`).join("")));
  const word = (start) => hash.slice(start, start + 8).reduce((word, byte) => (word << 8n) | BigInt(byte), 0n);
  const high = (word(0) & ~0xf000n) | 0x8000n;
  return uuid(high, (word(8) & 0x3fffffffffffffffn) | 0x8000000000000000n);
}

/** Whether a value is a lower-case UUID of any version. */
export function isUUID(text) {
  return typeof text === "string" && /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/.test(text);
}

/** Whether a value may be the id of a record or the name of a zone: a text of 1 to 64 bytes without U+0000. */
export function isPossibleIdentifier(text) {
  if (typeof text !== "string" || !isWellFormed(text)) return false;
  const length = utf8Length(text);
  return length >= 1 && length <= 64 && !text.includes("\0");
}

/** The first 32 bits of the fractions of a root of the first primes. */
function rootFractions(count, root) {
  const words = [];
  for (let number = 2; words.length < count; number++) {
    let isPrime = true;
    for (let factor = 2; factor * factor <= number; factor++) if (number % factor === 0) isPrime = false;
    if (isPrime) words.push(((number ** root % 1) * 2 ** 32) | 0);
  }
  return words;
}

const constants = rootFractions(64, 1 / 3);

/** SHA-256 (FIPS 180-4). The browser's own is not there in one step. */
function sha256(message) {
  const state = rootFractions(8, 1 / 2);
  const padded = new Uint8Array(((message.length + 8) >> 6 << 6) + 64);
  padded.set(message);
  padded[message.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(message.length / 2 ** 29));
  view.setUint32(padded.length - 4, message.length << 3);
  const rotate = (word, count) => (word >>> count) | (word << (32 - count));
  const words = new Int32Array(64);
  for (let block = 0; block < padded.length; block += 64) {
    for (let index = 0; index < 16; index++) words[index] = view.getInt32(block + 4 * index);
    for (let index = 16; index < 64; index++) {
      const [early, late] = [words[index - 15], words[index - 2]];
      const first = rotate(early, 7) ^ rotate(early, 18) ^ (early >>> 3);
      const second = rotate(late, 17) ^ rotate(late, 19) ^ (late >>> 10);
      words[index] = words[index - 16] + first + words[index - 7] + second;
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let index = 0; index < 64; index++) {
      const first = h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + constants[index] + words[index];
      const second = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((word, index) => { state[index] = (state[index] + word) | 0; });
  }
  return state.flatMap((word) => [word >>> 24, (word >>> 16) & 255, (word >>> 8) & 255, word & 255]);
}
