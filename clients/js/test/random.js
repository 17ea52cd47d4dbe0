// Randomness for tests.

/** SplitMix64, so that a seed decides everything. Source: Steele, Lea and Flood, 2014. */
export class SeededRandom {
  constructor(seed) {
    this.state = BigInt(seed);
  }

  next() {
    this.state = BigInt.asUintN(64, this.state + 0x9e3779b97f4a7c15n);
    let word = this.state;
    word = BigInt.asUintN(64, (word ^ (word >> 30n)) * 0xbf58476d1ce4e5b9n);
    word = BigInt.asUintN(64, (word ^ (word >> 27n)) * 0x94d049bb133111ebn);
    return word ^ (word >> 31n);
  }

  below(count) {
    return Number(this.next() % BigInt(count));
  }

  of(list) {
    return list.length === 0 ? undefined : list[this.below(list.length)];
  }
}
