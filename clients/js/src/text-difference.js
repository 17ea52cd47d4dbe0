// What one text makes of another. Pure. docs/PROTOCOL.md, section 5.1; Tests/Vectors/texts.json.
//
// Sources: E. W. Myers, "An O(ND) Difference Algorithm and Its Variations" (1986), the greedy algorithm; B. Cohen's patience diff, for parts in which
// more differs than the greedy algorithm may take on.

/** How many tokens of a part may be gone or new before it is divided. */
const depthLimit = 96;
/** How often parts are divided. */
const levelLimit = 8;
/** How many steps are taken in all, besides two for each token. */
const stepLimit = 20_000;

/**
 * The stretches of tokens in which two texts differ, in order: `{base: [start, end], own: [start, end]}`.
 *
 * @param base the numbers of the tokens of one text; equal tokens have equal numbers.
 * @param own those of the other.
 */
export function differences(base, own) {
  const difference = new Difference(base, own);
  difference.compare([0, base.length], [0, own.length], 0);
  return difference.slid();
}

class Difference {
  constructor(base, own) {
    this.base = base;
    this.own = own;
    this.stretches = [];
    this.stepsLeft = stepLimit + 2 * (base.length + own.length);
  }

  compare([baseStart, baseEnd], [ownStart, ownEnd], level) {
    while (baseStart < baseEnd && ownStart < ownEnd && this.base[baseStart] === this.own[ownStart]) {
      baseStart += 1;
      ownStart += 1;
    }
    while (baseStart < baseEnd && ownStart < ownEnd && this.base[baseEnd - 1] === this.own[ownEnd - 1]) {
      baseEnd -= 1;
      ownEnd -= 1;
    }
    if (baseStart === baseEnd && ownStart === ownEnd) return;
    if (baseStart < baseEnd && ownStart < ownEnd) {
      if (this.search(baseStart, baseEnd, ownStart, ownEnd)) return;
      const anchors = level < levelLimit ? this.anchors(baseStart, baseEnd, ownStart, ownEnd) : [];
      if (anchors.length > 0) {
        let [nextBase, nextOwn] = [baseStart, ownStart];
        for (const [anchorBase, anchorOwn] of anchors) {
          this.compare([nextBase, anchorBase], [nextOwn, anchorOwn], level + 1);
          [nextBase, nextOwn] = [anchorBase + 1, anchorOwn + 1];
        }
        this.compare([nextBase, baseEnd], [nextOwn, ownEnd], level + 1);
        return;
      }
    }
    this.join({ base: [baseStart, baseEnd], own: [ownStart, ownEnd] });
  }

  /** Finds the fewest tokens that are gone or new; false where they are too many. */
  search(baseStart, baseEnd, ownStart, ownEnd) {
    const [width, height] = [baseEnd - baseStart, ownEnd - ownStart];
    const limit = Math.min(depthLimit, width + height);
    const center = limit + 1;
    const furthest = new Int32Array(2 * limit + 3);
    const rounds = [];
    for (let depth = 0; depth <= limit; depth++) {
      if (this.stepsLeft < 0) return false;
      this.stepsLeft -= depth + 1;
      rounds.push(furthest.slice(center - depth - 1, center + depth + 2));
      for (let diagonal = -depth; diagonal <= depth; diagonal += 2) {
        const isDown = isDownward(furthest, center, diagonal, depth);
        let x = isDown ? furthest[center + diagonal + 1] : furthest[center + diagonal - 1] + 1;
        let y = x - diagonal;
        while (x < width && y < height && this.base[baseStart + x] === this.own[ownStart + y]) {
          x += 1;
          y += 1;
          this.stepsLeft -= 1;
        }
        furthest[center + diagonal] = x;
        if (x >= width && y >= height) {
          this.trace(rounds, depth, x, y, baseStart, ownStart);
          return true;
        }
      }
    }
    return false;
  }

  /** Goes back from the end, and notes each step that was no equality. */
  trace(rounds, depth, x, y, baseStart, ownStart) {
    const found = [];
    for (; depth > 0; depth--) {
      const before = rounds[depth];
      const center = depth + 1;
      const isDown = isDownward(before, center, x - y, depth);
      const from = isDown ? x - y + 1 : x - y - 1;
      const previousX = before[center + from];
      const previousY = previousX - from;
      const [base, own] = [baseStart + previousX, ownStart + previousY];
      found.push(isDown ? { base: [base, base], own: [own, own + 1] } : { base: [base, base + 1], own: [own, own] });
      [x, y] = [previousX, previousY];
    }
    for (const step of found.reverse()) this.join(step);
  }

  /** The tokens that either part has once; of them the longest row in one order. */
  anchors(baseStart, baseEnd, ownStart, ownEnd) {
    const places = new Map();
    const note = (token, side, index) => {
      const place = places.get(token) ?? { base: -2, own: -2 };
      place[side] = place[side] === -2 ? index : -1;
      places.set(token, place);
    };
    for (let index = baseStart; index < baseEnd; index++) note(this.base[index], "base", index);
    for (let index = ownStart; index < ownEnd; index++) note(this.own[index], "own", index);
    const rows = [];
    const ends = [];
    const before = [];
    for (let index = ownStart; index < ownEnd; index++) {
      const here = places.get(this.own[index]);
      if (here.own < 0 || here.base < 0) continue;
      let [low, high] = [0, ends.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (rows[ends[middle]][0] < here.base) low = middle + 1;
        else high = middle;
      }
      before.push(low === 0 ? -1 : ends[low - 1]);
      if (low === ends.length) ends.push(rows.length);
      else ends[low] = rows.length;
      rows.push([here.base, index]);
    }
    const anchors = [];
    for (let next = ends.length > 0 ? ends[ends.length - 1] : -1; next >= 0; next = before[next]) anchors.push(rows[next]);
    return anchors.reverse();
  }

  /** Adds a stretch behind the others, to the last one where nothing equal is between them. */
  join(next) {
    const last = this.stretches[this.stretches.length - 1];
    if (last && last.base[1] === next.base[0] && last.own[1] === next.own[0]) {
      last.base[1] = next.base[1];
      last.own[1] = next.own[1];
    } else {
      this.stretches.push({ base: [...next.base], own: [...next.own] });
    }
  }

  /** Moves what is only new or only gone as far to the end as it can stand. */
  slid() {
    const done = [];
    for (const stretch of this.stretches.reverse()) {
      const next = done[done.length - 1];
      const limit = next ? next.base[0] : this.base.length;
      const isNew = stretch.base[0] === stretch.base[1];
      const isGone = stretch.own[0] === stretch.own[1];
      const canMove = () =>
        stretch.base[1] < limit
        && (isNew
          ? this.own[stretch.own[0]] === this.base[stretch.base[1]]
          : isGone && this.base[stretch.base[0]] === this.base[stretch.base[1]]);
      while (canMove()) {
        stretch.base = [stretch.base[0] + 1, stretch.base[1] + 1];
        stretch.own = [stretch.own[0] + 1, stretch.own[1] + 1];
      }
      if (next && stretch.base[1] === next.base[0]) {
        done[done.length - 1] = { base: [stretch.base[0], next.base[1]], own: [stretch.own[0], next.own[1]] };
      } else {
        done.push(stretch);
      }
    }
    return done.reverse();
  }
}

/** Whether the best way to a diagonal is a token that is new, not one that is gone. */
function isDownward(furthest, center, diagonal, depth) {
  return diagonal === -depth
    || (diagonal !== depth && furthest[center + diagonal - 1] < furthest[center + diagonal + 1]);
}
