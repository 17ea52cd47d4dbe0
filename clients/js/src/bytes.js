// Texts as UTF-8 bytes, and 64-bit fingerprints of them. Pure.

const encoder = new TextEncoder();

/** The UTF-8 bytes of a text. */
export function utf8(text) {
  return encoder.encode(text);
}

/** How many UTF-8 bytes a text has. */
export function utf8Length(text) {
  let count = 0;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) count += 1;
    else if (unit < 0x800) count += 2;
    else if (unit >= 0xd800 && unit < 0xdc00) {
      count += 4;
      index += 1;
    } else count += 3;
  }
  return count;
}

/**
 * Orders two texts by their UTF-8 bytes. JavaScript orders by UTF-16 units, which puts characters beyond U+FFFF before U+E000.
 */
export function compareBytes(left, right) {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index++) {
    let a = left.charCodeAt(index);
    let b = right.charCodeAt(index);
    if (a === b) continue;
    // Surrogates stand for the greatest code points.
    if (a >= 0xd800) a = a < 0xe000 ? a + 0x10000 : a;
    if (b >= 0xd800) b = b < 0xe000 ? b + 0x10000 : b;
    return a - b;
  }
  return left.length - right.length;
}

/** Whether a text has no lone surrogates, so that it has a form in UTF-8. */
export function isWellFormed(text) {
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0xd800 || unit > 0xdfff) continue;
    if (unit > 0xdbff) return false;
    const next = text.charCodeAt(index + 1);
    if (!(next >= 0xdc00 && next <= 0xdfff)) return false;
    index += 1;
  }
  return true;
}

/** FNV-1a of 64 bits, as two words of 32. Source: Fowler, Noll and Vo; RFC 9923. */
class Fingerprint {
  high = 0xcbf29ce4;
  low = 0x84222325;

  /** Adds bytes. The prime is 2^40 + 0x1b3. */
  add(bytes) {
    let { high, low } = this;
    for (let index = 0; index < bytes.length; index++) {
      low = (low ^ bytes[index]) >>> 0;
      const product = low * 0x1b3;
      const carry = Math.floor(product / 0x100000000);
      high = (Math.imul(high, 0x1b3) + carry + (low << 8)) >>> 0;
      low = product >>> 0;
    }
    this.high = high;
    this.low = low;
    return this;
  }

  get text() {
    return hexadecimal(this.high) + hexadecimal(this.low);
  }
}

function hexadecimal(word) {
  return word.toString(16).padStart(8, "0");
}

/** The fingerprint of a text, in 16 hex digits. */
export function fingerprint(text) {
  return new Fingerprint().add(utf8(text)).text;
}

/** The chain of a device that has sent nothing. */
export const chainBeginning = "0000000000000000";

/** The chain after one more change set: docs/PROTOCOL.md, section 7. */
export function chained(chain, changeSet) {
  const before = new Uint8Array(8);
  for (let index = 0; index < 8; index++) before[index] = parseInt(chain.slice(2 * index, 2 * index + 2), 16);
  return new Fingerprint().add(before).add(utf8(changeSet)).text;
}

const mask = 0xffffffffffffffffn;

/**
 * The digest of a device's acks: docs/PROTOCOL.md, section 3.
 *
 * @param acks pairs of a zone and its token; the empty token counts nothing.
 */
export function ackDigest(acks) {
  let sum = 0n;
  for (const [zone, token] of acks) {
    if (token === "") continue;
    let x = BigInt("0x" + fingerprint(`${zone}=${token}`));
    x = ((x ^ (x >> 30n)) * 0xbf58476d1ce4e5b9n) & mask;
    x = ((x ^ (x >> 27n)) * 0x94d049bb133111ebn) & mask;
    sum = (sum + (x ^ (x >> 31n))) & mask;
  }
  return sum.toString(16).padStart(16, "0");
}
