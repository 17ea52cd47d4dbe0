import HoldfastCore
import Testing

@Suite("JSON under random texts")
struct JSONFuzzTests {
  @Test("random trees read back equal", arguments: [11, 12, 13] as [UInt64])
  func roundTrips(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    for _ in 0..<1000 {
      let value = Self.value(depth: 4, &random)
      #expect(try JSONValue(parsing: value.bytes) == value, "seed \(seed)")
      #expect(try JSONValue(parsing: value.formatted()) == value, "seed \(seed)")
    }
  }

  @Test(
    "no mutation of a text traps, and reading, skipping and rewriting agree",
    arguments: [21, 22, 23, 24] as [UInt64])
  func mutations(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var accepted = 0
    for round in 0..<5000 {
      var text = Self.value(depth: 3, &random).bytes
      for _ in 0..<Int.random(in: 1...3, using: &random) { Self.mutate(&text, &random) }
      let tree = try? JSONValue(parsing: text)
      let skipped: Bool
      do {
        try JSONReader.read(text) { _ in }
        skipped = true
      } catch {
        skipped = false
        #expect((error as? JSONError).map { (0...text.count).contains($0.offset) } == true)
      }
      if let tree {
        accepted += 1
        if !skipped { Issue.record("seed \(seed), round \(round): read but not skipped") }
        if (try? JSONValue(parsing: tree.bytes)) != tree {
          Issue.record("seed \(seed), round \(round): rewritten differently")
        }
      } else if skipped, !Self.hasHugeNumber(text) {
        Issue.record("seed \(seed), round \(round): skipped but not read")
      }
    }
    #expect(accepted > 100)
  }

  @Test("no random bytes trap")
  func noise() {
    var random = SeededRandom(seed: 31)
    let alphabet = Array("{}[]\",:\\u0019d8eE+-.tfn \u{7F}é".utf8) + [0, 0xFF, 0xED, 0xF4]
    for _ in 0..<20_000 {
      let text = (0..<Int.random(in: 0..<24, using: &random)).map { _ in
        alphabet.randomElement(using: &random) ?? 0
      }
      _ = try? JSONValue(parsing: text)
      _ = try? JSONReader.read(text) { reader in
        try reader.readObject { key, reader in _ = try reader.readRawValue() }
      }
    }
  }

  /// Skipping checks a number's grammar, not its range.
  private static func hasHugeNumber(_ text: [UInt8]) -> Bool {
    do { _ = try JSONValue(parsing: text) } catch { return (error as? JSONError)?.code == .numberOutOfRange }
    return false
  }

  private static func mutate(_ text: inout [UInt8], _ random: inout SeededRandom) {
    guard !text.isEmpty else { return }
    let place = Int.random(in: 0..<text.count, using: &random)
    let spice = Array("{}[]\",:\\u0e-.n".utf8)
    switch Int.random(in: 0..<6, using: &random) {
    case 0: text[place] = UInt8.random(in: .min ... .max, using: &random)
    case 1: text[place] = spice.randomElement(using: &random) ?? 0
    case 2: text.remove(at: place)
    case 3: text.insert(spice.randomElement(using: &random) ?? 0, at: place)
    case 4: text.removeSubrange(place...)
    default:
      let end = Int.random(in: place..<text.count, using: &random)
      text.insert(contentsOf: Array(text[place...end]), at: place)
    }
  }

  private static func value(depth: Int, _ random: inout SeededRandom) -> JSONValue {
    switch Int.random(in: 0..<(depth > 0 ? 9 : 6), using: &random) {
    case 0: return .null
    case 1: return .bool(Bool.random(using: &random))
    case 2: return .integer(Int64(bitPattern: random.next()) >> Int64.random(in: 0..<64, using: &random))
    case 3:
      let real = Double(bitPattern: random.next())
      return real.isFinite ? .real(real) : .null
    case 4, 5: return .string(string(&random))
    case 6:
      return .array((0..<Int.random(in: 0..<6, using: &random)).map { _ in value(depth: depth - 1, &random) })
    default:
      let count = Int.random(in: 0..<6, using: &random)
      return .object(
        (0..<count).map { .init("\($0)" + string(&random), value(depth: depth - 1, &random)) })
    }
  }

  private static func string(_ random: inout SeededRandom) -> String {
    let alphabet = Array("abcdefghij \"\\/\n\u{0}\u{1F}\u{7F}é漢😀\u{FFFD}").map(String.init)
    return (0..<Int.random(in: 0..<20, using: &random)).map { _ in
      alphabet.randomElement(using: &random) ?? ""
    }
    .joined()
  }
}
