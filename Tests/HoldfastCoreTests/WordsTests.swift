import Testing

@testable import HoldfastCore

@Suite("Ids, stamps, tokens and times")
struct WordsTests {
  @Test("an id is a lower-case UUIDv7 that sorts by its millisecond")
  func ids() {
    let early = Identifier.make(milliseconds: 1_700_000_000_000, random: (.max, .max))
    let late = Identifier.make(milliseconds: 1_700_000_000_001, random: (0, 0))
    #expect(early == "018bcfe5-6800-7fff-bfff-ffffffffffff")
    #expect(Identifier.isValid(early) && Identifier.isValid(late) && early < late)
    for text in [
      "", "018BCFE5-6800-7fff-bfff-ffffffffffff", "018bcfe5-6800-4fff-bfff-ffffffffffff",
      "018bcfe568007fffbfffffffffffffff0000",
    ] {
      #expect(!Identifier.isValid(text))
    }
  }

  @Test("a stamp never goes back, and follows the wall clock when that is ahead")
  func stamps() {
    let stamp = Stamp(milliseconds: 1000)
    #expect(stamp.next(milliseconds: 500) > stamp)
    #expect(stamp.next(milliseconds: 2000) == Stamp(milliseconds: 2000))
    #expect(Stamp(stamp.text) == stamp)
    #expect(Stamp("ffffffffffffffff") == nil)
    #expect(Stamp(rawValue: .max).next(milliseconds: .max) >= Stamp(rawValue: .max))
    #expect(Stamp(milliseconds: .max).milliseconds > 0 && Stamp(milliseconds: .min) == .zero)
  }

  @Test("tokens are read as they were written, and nothing else is")
  func tokens() {
    let token = ChangeToken(epoch: "0a1b2c3d", seq: 42)
    #expect(ChangeToken(token.text) == token)
    let inTheMiddle = ChangeToken(epoch: "0a1b2c3d", seq: 42, purged: 43)
    #expect(ChangeToken(inTheMiddle.text) == inTheMiddle && inTheMiddle != token)
    #expect(ChangeToken(epoch: "0a1b2c3d", seq: 42, purged: 42) == token)
    let unfinished = ChangeToken(epoch: "0a1b2c3d", seq: 42, isUnfinished: true)
    #expect(ChangeToken(unfinished.text) == unfinished && unfinished != token)
    for text in [
      "", "0a1b2c3d", "0a1b2c3d.", "0a1b2c3d.1.-2",
      "0a1b2c3d.-1", "0a1b2c3d.01", "0A1B2C3D.1", "0a1b2c3d.1.1", "0a1b2c3d.1.0",
      "0a1b2c3d.1.02", "0a1b2c3d.1.", "0a1b2c3d.1.2.3",
      "0a1b2c3d.99999999999999999999",
    ] {
      #expect(ChangeToken(text) == nil)
    }
  }

  @Test("times are exact to the millisecond over all years, and only real moments are accepted")
  func times() {
    #expect(Timestamp.text(milliseconds: 0) == "1970-01-01T00:00:00.000Z")
    #expect(Timestamp.text(milliseconds: 1_709_210_096_789) == "2024-02-29T12:34:56.789Z")
    var milliseconds: Int64 = -62_167_219_200_000
    while milliseconds < 253_402_300_799_999 {
      #expect(Timestamp.milliseconds(Timestamp.text(milliseconds: milliseconds)) == milliseconds)
      milliseconds += 7_777_777_777_777
    }
    for text in [
      "2023-02-29T00:00:00.000Z", "2023-13-01T00:00:00.000Z", "2023-01-01T24:00:00.000Z",
      "2023-01-01T00:00:00Z", "2023-01-01 00:00:00.000Z",
    ] {
      #expect(!Timestamp.isValid(text))
    }
  }

  @Test("a digest does not depend on order, and knows every zone and token")
  func digest() {
    var (first, second, other) = (AckDigest(), AckDigest(), AckDigest())
    first.add(zone: "a", token: "1")
    first.add(zone: "b", token: "2")
    second.add(zone: "b", token: "2")
    second.add(zone: "c", token: "")
    second.add(zone: "a", token: "1")
    other.add(zone: "a", token: "2")
    other.add(zone: "b", token: "1")
    #expect(first == second && first != other)
  }

  @Test("zones that move on together never cancel each other out in the digest (I4)")
  func digestOfSimilarTokens() {
    // A plain sum of FNV-1a hashes is the same before and after for half of these pairs.
    for zone in 0..<200 {
      var (before, after) = (AckDigest(), AckDigest())
      for (name, seq) in [("first \(zone)", 6), ("second \(zone)", 2)] {
        before.add(zone: name, token: "c6e853e6.\(seq)")
        after.add(zone: name, token: "c6e853e6.\(seq + 1)")
      }
      #expect(before != after)
    }
  }

  @Test("a chain depends on every byte and on their grouping (I1)")
  func chain() {
    func chain(_ sets: [String]) -> Fingerprint {
      sets.reduce(.beginning) { chain, set in
        Array(set.utf8).withUnsafeBufferPointer { chain.chained(with: $0) }
      }
    }
    #expect(chain(["ab", "c"]) == chain(["ab", "c"]))
    #expect(
      Set([
        chain(["ab", "c"]), chain(["a", "bc"]), chain(["abc"]), chain(["c", "ab"]), chain(["ab", "d"]),
      ]).count == 5)
  }
}
