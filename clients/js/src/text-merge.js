// A three-way merge of texts by words (diff3). Pure. docs/PROTOCOL.md, section 5.1.

import { compareBytes } from "./bytes.js";
import { differences } from "./text-difference.js";

const joiner = "\u200d";

function kindOf(character) {
  const code = character.codePointAt(0);
  if (code < 0x80) {
    if (/[A-Za-z0-9_]/.test(character)) return "word";
    return /[ \t\n\r\v\f]/.test(character) ? "space" : "single";
  }
  if (/\p{White_Space}/u.test(character)) return "space";
  // Scripts that are written without spaces: a sentence of them would be one word.
  if (/\p{Ideographic}/u.test(character) || (code >= 0x3040 && code <= 0x30ff)) return "single";
  return /[\p{Alphabetic}\p{N}]/u.test(character) ? "word" : "single";
}

function extendsCharacter(character) {
  return character.codePointAt(0) >= 0x300 && /[\p{Grapheme_Extend}\p{Emoji_Modifier}]/u.test(character);
}

/**
 * A text cut into tokens: words, runs of white space, and all else character by character. Marks stay with what they belong to.
 *
 * @returns tokens `{text, isWord, startsAttached, endsJoining}`.
 */
export function tokens(text) {
  const found = [];
  const first = text === "" ? undefined : String.fromCodePoint(text.codePointAt(0));
  const startsAttached = first !== undefined && (first === joiner || extendsCharacter(first));
  let [current, kind, joinsNext] = ["", "single", false];
  const finish = () => {
    if (current === "") return;
    found.push({
      text: current, isWord: kind === "word", startsAttached: found.length === 0 && startsAttached, endsJoining: joinsNext,
    });
    current = "";
  };
  for (const character of text) {
    const isJoiner = character === joiner;
    const isAttached = current !== "" && (joinsNext || isJoiner || extendsCharacter(character));
    if (!isAttached) {
      const next = kindOf(character);
      if (next !== kind || next === "single") finish();
      kind = next;
    }
    joinsNext = isJoiner;
    current += character;
  }
  finish();
  return found;
}

/** The numbers of the tokens of some texts: equal tokens have equal numbers. */
export function numbered(texts) {
  const numbers = new Map();
  return texts.map((tokens) => tokens.map(({ text }) => {
    if (!numbers.has(text)) numbers.set(text, numbers.size);
    return numbers.get(text);
  }));
}

/**
 * Merges what two sides made of one text.
 *
 * @param minePrevails whose words stand where both changed the same ones.
 * @returns `{text, isLossy}`
 */
export function mergeTexts(base, mine, theirs, minePrevails) {
  const sides = [base, mine, theirs].map(tokens);
  const numbers = numbered(sides);
  const merge = new TextMerge(sides, numbers, minePrevails);
  merge.run(differences(numbers[0], numbers[1]), differences(numbers[0], numbers[2]));
  return { text: merge.parts.join(""), isLossy: merge.isLossy };
}

class TextMerge {
  constructor([base, mine, theirs], numbers, minePrevails) {
    Object.assign(this, { base, mine, theirs, numbers, minePrevails });
    this.parts = [];
    this.end = undefined;
    this.isLossy = false;
  }

  run(mine, theirs) {
    let [mineNext, theirsNext, done] = [0, 0, 0];
    while (mineNext < mine.length || theirsNext < theirs.length) {
      const region = regionFrom(mine, mineNext, theirs, theirsNext);
      this.append(this.base.slice(done, region.base[0]));
      this.appendRegion(region);
      done = region.base[1];
      mineNext += region.mine.length;
      theirsNext += region.theirs.length;
    }
    this.append(this.base.slice(done));
  }

  appendRegion(region) {
    const [ownStart, ownEnd] = sideOf(region.mine, region.base);
    const [otherStart, otherEnd] = sideOf(region.theirs, region.base);
    const own = this.mine.slice(ownStart, ownEnd);
    const other = this.theirs.slice(otherStart, otherEnd);
    if (region.theirs.length === 0) return this.append(own);
    const isSame = own.length === other.length && own.every((token, index) => token.text === other[index].text);
    if (region.mine.length === 0 || isSame) return this.append(other);
    if (region.base[0] === region.base[1]) {
      const isOwnFirst = compareBytes(textOf(own), textOf(other)) < 0;
      this.append(isOwnFirst ? own : other);
      return this.append(isOwnFirst ? other : own);
    }
    this.isLossy = true;
    return this.append(this.minePrevails ? own : other);
  }

  append(part) {
    if (part.length === 0) return;
    const first = part[0];
    if (this.end && ((this.end.isWord && first.isWord) || this.end.endsJoining || first.startsAttached)) this.parts.push(" ");
    this.parts.push(textOf(part));
    this.end = part[part.length - 1];
  }
}

function textOf(tokens) {
  return tokens.map(({ text }) => text).join("");
}

/** The next part of the base that was changed, with the stretches of each side in it. */
function regionFrom(mine, mineNext, theirs, theirsNext) {
  // An insertion before a token is no change of the token.
  const order = (stretches, next) => {
    if (next === stretches.length) return [Infinity, Infinity];
    const [start, end] = stretches[next].base;
    return [start, start === end ? 0 : 1];
  };
  const precedes = (left, right) => left[0] < right[0] || (left[0] === right[0] && left[1] <= right[1]);
  const [mineOrder, theirsOrder] = [order(mine, mineNext), order(theirs, theirsNext)];
  let [takesMine, takesTheirs] = [precedes(mineOrder, theirsOrder), precedes(theirsOrder, mineOrder)];
  const region = { base: [...(takesMine ? mine[mineNext] : theirs[theirsNext]).base], mine: [], theirs: [] };
  while (takesMine || takesTheirs) {
    if (takesMine) {
      region.mine.push(mine[mineNext]);
      region.base[1] = Math.max(region.base[1], mine[mineNext].base[1]);
      mineNext += 1;
    }
    if (takesTheirs) {
      region.theirs.push(theirs[theirsNext]);
      region.base[1] = Math.max(region.base[1], theirs[theirsNext].base[1]);
      theirsNext += 1;
    }
    takesMine = mineNext < mine.length && mine[mineNext].base[0] < region.base[1];
    takesTheirs = theirsNext < theirs.length && theirs[theirsNext].base[0] < region.base[1];
  }
  return region;
}

/** Which tokens one side has in place of a region. */
function sideOf(stretches, base) {
  if (stretches.length === 0) return [0, 0];
  const [first, last] = [stretches[0], stretches[stretches.length - 1]];
  return [first.own[0] - (first.base[0] - base[0]), last.own[1] + (base[1] - last.base[1])];
}
