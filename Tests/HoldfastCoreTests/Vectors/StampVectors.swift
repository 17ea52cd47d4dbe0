import HoldfastCore

/// Cases of `Stamp`, `Timestamp` and `Identifier`.
enum StampVectors {
  static var cases: [JSONValue] { clocks + stampTexts + timestamps + identifiers }

  private static var clocks: [JSONValue] {
    let now: Int64 = 1_795_000_000_000
    let stands: [(Int64, Int64)] = [
      (0, now), (now << 16, now), (now << 16, now - 1), (now << 16, now + 1), (now << 16 | 0xffff, now),
      ((now + 60_000) << 16 | 7, now), (0, 0), (0, -5), (.max, now), (now << 16, .max), (now << 16, 1 << 47),
    ]
    return stands.map { raw, milliseconds in
      let stamp = Stamp(rawValue: raw)
      return [
        "clock": .string(stamp.text), "milliseconds": .integer(milliseconds),
        "next": .string(stamp.next(milliseconds: milliseconds).text),
        "clock_milliseconds": .integer(stamp.milliseconds),
      ]
    }
  }

  private static var stampTexts: [JSONValue] {
    [
      "0000000000000000", "7fffffffffffffff", "8000000000000000", "01A206CF11120000", "1", "",
      "01a206cf1112000g",
    ]
    .map { ["stamp": .string($0), "valid": .bool(Stamp($0) != nil)] }
  }

  private static var timestamps: [JSONValue] {
    let moments: [Int64] = [
      0, 1, -1, 951_782_400_000, 4_107_542_399_999, -62_167_219_200_000, 253_402_300_799_999, .max, .min,
      1_795_000_000_123,
    ]
    let texts = [
      "2026-11-21T10:00:00.000Z", "2024-02-29T00:00:00.000Z", "2023-02-29T00:00:00.000Z",
      "2026-11-21T10:00:00Z", "2026-11-21 10:00:00.000Z", "2026-11-21T24:00:00.000Z",
      "2026-11-21T10:00:60.000Z", "2026-13-01T10:00:00.000Z", "0000-01-01T00:00:00.000Z",
      "2026-11-21T10:00:00.000+00:00", "1900-02-29T00:00:00.000Z", "2026-04-31T00:00:00.000Z", "",
    ]
    return moments.map {
      ["milliseconds": .integer($0), "timestamp": .string(Timestamp.text(milliseconds: $0))]
    }
      + texts.map { ["timestamp": .string($0), "valid": .bool(Timestamp.isValid($0))] }
  }

  private static var identifiers: [JSONValue] {
    var random = SeededRandom(seed: 24)
    let made: [JSONValue] = [0, 1_795_000_000_123, 1 << 48 - 1].map { (milliseconds: Int64) in
      let words = (random.next(), random.next())
      return [
        "milliseconds": .integer(milliseconds),
        "random": [VectorFiles.hexadecimal(words.0), VectorFiles.hexadecimal(words.1)],
        "id": .string(Identifier.make(milliseconds: milliseconds, random: words)),
      ]
    }
    let derived: [JSONValue] = [[], ["a"], ["a", "b"], ["ab"], ["", "a"], ["caf\u{E9}", "\u{1F600}"]].map {
      (names: [String]) in
      [
        "names": .array(names.map { .string($0) }), "derived": .string(Identifier.derived(from: names)),
      ]
    }
    return made + derived
  }
}
