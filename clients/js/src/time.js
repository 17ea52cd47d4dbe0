// Stamps of the hybrid logical clock, and timestamps. Pure. docs/PROTOCOL.md, section 1.

/** The beginning of time. */
export const zeroStamp = "0000000000000000";

const greatestMilliseconds = 2 ** 47 - 1;

/** Whether a text is a stamp: 16 lower-case hex digits of 63 bits. */
export function isStamp(text) {
  return /^[0-7][0-9a-f]{15}$/.test(text);
}

/** The first stamp of a millisecond since 1970. */
export function stampOf(milliseconds) {
  const bounded = Math.min(Math.max(0, Math.trunc(milliseconds)), greatestMilliseconds);
  return bounded.toString(16).padStart(12, "0") + "0000";
}

/** Milliseconds since 1970 of a stamp. */
export function stampMilliseconds(stamp) {
  return parseInt(stamp.slice(0, 12), 16);
}

/** The next stamp of a clock that stands at one, when the wall clock shows `milliseconds`. */
export function nextStamp(stamp, milliseconds) {
  const raw = BigInt("0x" + stamp);
  const next = (raw === 2n ** 63n - 1n ? raw : raw + 1n).toString(16).padStart(16, "0");
  const wall = stampOf(milliseconds);
  return next > wall ? next : wall;
}

/** The later of two stamps. */
export function laterStamp(left, right) {
  return left > right ? left : right;
}

/** Whether a stamp is more than a day later than another. */
export function isDayAhead(left, right) {
  return stampMilliseconds(left) > stampMilliseconds(right) + 86_400_000;
}

/** A stamp that follows another one up, and down where it is more than a day ahead. */
export function followed(stamp, other) {
  return isDayAhead(stamp, other) ? other : laterStamp(stamp, other);
}

const leastMoment = -62_167_219_200_000;
const greatestMoment = 253_402_300_799_999;

/** The timestamp of a moment in milliseconds since 1970; moments outside the years 0000-9999 are bounded to them. */
export function timestamp(milliseconds) {
  const bounded = Math.min(Math.max(Number(milliseconds), leastMoment), greatestMoment);
  return new Date(bounded).toISOString();
}

/** Whether a text is a timestamp such as 2026-11-21T10:00:00.000Z, and names a real moment. */
export function isTimestamp(text) {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text)) return false;
  const milliseconds = Date.parse(text);
  return !Number.isNaN(milliseconds) && new Date(milliseconds).toISOString() === text;
}
