// Places in ordered lists. Pure; the caller brings the replica's name and the randomness. docs/POSITIONS.md.
//
// Positions are ASCII, so JavaScript orders them as bytes are ordered.

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const replicaLength = 6;
const tieLength = 4;
const limit = 99_999_999_999_999;

/** The longest a position gets, in bytes. */
export const maximumPositionLength = 2000;

function lastDigits(number, count) {
  let text = "";
  for (let rest = BigInt(number); text.length < count; rest /= 62n) text = digits[Number(rest % 62n)] + text;
  return text;
}

/** A replica's name of 64 random bits, a BigInt. */
export function replicaName(random) {
  return lastDigits(random, replicaLength);
}

// Whole numbers as strings whose byte order is the numbers' order, none a prefix of another.

function writeNumber(number) {
  if (number >= -23 && number <= 22) return digits[number + 31];
  const isNegative = number < 0;
  let rest = isNegative ? -24 - number : number - 23;
  let [count, size] = [1, 62];
  while (rest >= size && count < 8) {
    rest -= size;
    size *= 62;
    count += 1;
  }
  const lead = isNegative ? 8 - count : 53 + count;
  return digits[lead] + lastDigits(isNegative ? size - 1 - rest : rest, count);
}

function readNumber(text, place) {
  const lead = place < text.length ? digits.indexOf(text[place]) : -1;
  if (lead < 0) return null;
  if (lead >= 8 && lead <= 53) return { number: lead - 31, end: place + 1 };
  const isNegative = lead < 8;
  const count = isNegative ? 8 - lead : lead - 53;
  const end = place + 1 + count;
  if (end > text.length) return null;
  // Eight digits of base 62 are more than a double holds exactly.
  let [value, size, offset] = [0n, 1n, 0n];
  for (let index = place + 1; index < end; index++) {
    const digit = digits.indexOf(text[index]);
    if (digit < 0) return null;
    value = value * 62n + BigInt(digit);
    if (index > place + 1) offset += size;
    size *= 62n;
  }
  const number = isNegative ? -24n - offset - (size - 1n - value) : 23n + offset + value;
  return { number: Number(number), end };
}

function areDigits(text, start, count) {
  if (start + count > text.length) return false;
  for (let index = start; index < start + count; index++) if (!digits.includes(text[index])) return false;
  return true;
}

/** The steps of a position from the root, `{author, numberStart, number, isPlace, end}`; null when no replica can have made the text. */
function parsePath(text) {
  const steps = [];
  let place = 0;
  while (place < text.length) {
    const parent = steps[steps.length - 1];
    let author;
    if (text[place] === "-" && parent) {
      author = parent.author;
      place += 1;
    } else {
      if (!areDigits(text, place, replicaLength)) return null;
      author = text.slice(place, place + replicaLength);
      if (author === parent?.author) return null;
      place += replicaLength;
    }
    const read = readNumber(text, place);
    if (!read || read.number < -limit - 1 || read.number > limit) return null;
    const isPlace = read.number % 2 !== 0;
    if (isPlace && !areDigits(text, read.end, tieLength)) return null;
    const end = isPlace ? read.end + tieLength : read.end;
    steps.push({ author, numberStart: place, number: read.number, isPlace, end });
    place = end;
  }
  return steps.length > 0 && steps[steps.length - 1].isPlace ? steps : null;
}

/** Whether a text is a position. */
export function isPosition(text) {
  return text.length <= maximumPositionLength && parsePath(text) !== null;
}

class Path {
  constructor(text) {
    this.text = text ?? "";
    this.steps = (text && parsePath(text)) || [];
  }

  get last() {
    return this.steps[this.steps.length - 1];
  }

  /** This path up to the waypoint of the step at a level, then another number in it. */
  stem(level, number) {
    return this.text.slice(0, this.steps[level].numberStart) + writeNumber(number);
  }

  /** How many steps both paths have in common. */
  shared(other) {
    let level = 0;
    while (level < this.steps.length && level < other.steps.length) {
      const { end } = this.steps[level];
      if (end !== other.steps[level].end || this.text.slice(0, end) !== other.text.slice(0, end)) break;
      level += 1;
    }
    return level;
  }
}

/** The gap between two neighbours, and the rules by which a replica fills it. */
class Gap {
  constructor(left, right, replica, nonce) {
    this.left = new Path(left);
    this.right = right === null ? null : new Path(right);
    this.replica = replica;
    this.tie = lastDigits(nonce, tieLength);
  }

  fill() {
    if (this.right && this.isRightNewer()) return this.countingDown() ?? this.aboveRight();
    return this.countingUp() ?? this.belowLeft();
  }

  isRightNewer() {
    const level = this.left.shared(this.right);
    const [before, after] = [this.left.steps[level], this.right.steps[level]];
    if (!before || !after) return true;
    if (before.author !== after.author || before.number === after.number) return false;
    const isLeftBelowRight = !before.isPlace && before.number === after.number - 1 && level === this.right.steps.length - 1;
    return !isLeftBelowRight && after.number >= 2;
  }

  countingUp() {
    for (const [level, step] of this.left.steps.entries()) {
      if (step.number < 0 || step.author !== this.replica) continue;
      const number = step.isPlace ? step.number + 2 : step.number + 3;
      if (number > limit) continue;
      const stem = this.left.stem(level, number);
      if (this.right && (this.right.text.startsWith(stem) || !(stem < this.right.text))) continue;
      return stem + this.tie;
    }
    return null;
  }

  countingDown() {
    for (const [level, step] of this.right.steps.entries()) {
      if (step.number > 1 || step.author !== this.replica) continue;
      const number = step.isPlace ? step.number - 2 : step.number - 1;
      if (number < -limit) continue;
      const stem = this.right.stem(level, number);
      if (this.left.text < stem) return stem + this.tie;
    }
    return null;
  }

  belowLeft() {
    return this.waypoint(this.left.text, this.left.last?.author);
  }

  aboveRight() {
    const { last, steps } = this.right;
    if (!last) return this.belowLeft();
    return this.waypoint(this.right.stem(steps.length - 1, last.number - 1), last.author);
  }

  /** Any place in the gap that is short enough, as near to the root as there is one. */
  shortcut() {
    const levels = Math.max(this.left.steps.length, this.right?.steps.length ?? 0);
    for (let level = this.left.shared(this.right ?? new Path()); level < levels; level++) {
      const step = this.left.steps[level];
      const up = step && this.shortcutIn(this.left, level, step.number + (step.isPlace ? 1 : 2));
      if (up) return up;
      const other = this.right?.steps[level];
      const down = other && this.shortcutIn(this.right, level, other.number - (other.isPlace ? 1 : 2));
      if (down) return down;
    }
    return null;
  }

  shortcutIn(path, level, number) {
    if (Math.abs(number) > limit) return null;
    const found = this.waypoint(path.stem(level, number), path.steps[level].author);
    if (found.length > maximumPositionLength || !(this.left.text < found)) return null;
    return this.right && !(found < this.right.text) ? null : found;
  }

  waypoint(stem, author) {
    return stem + (author === this.replica ? "-" : this.replica) + writeNumber(1) + this.tie;
  }
}

/**
 * Makes a place between two neighbours of a list.
 *
 * @param left the neighbour before, null at the list's start.
 * @param right the neighbour after, null at the list's end.
 * @param replica this device's name of six characters.
 * @param nonce random bits, a BigInt, fresh for each call.
 */
export function positionBetween(left, right, replica, nonce) {
  const gap = new Gap(left, right, replica, nonce);
  if (left !== null && right !== null && !(left < right)) {
    gap.right = null;
    return bounded(gap.belowLeft(), gap, left);
  }
  return bounded(gap.fill(), gap, left ?? right);
}

function bounded(found, gap, neighbour) {
  return found.length <= maximumPositionLength ? found : gap.shortcut() ?? neighbour ?? found;
}

/** Makes `count` places in a row between two neighbours, in ascending order. */
export function positionRun(count, left, right, replica, nonce) {
  const run = [];
  while (run.length < count) run.push(positionBetween(run[run.length - 1] ?? left, right, replica, nonce));
  return run;
}
