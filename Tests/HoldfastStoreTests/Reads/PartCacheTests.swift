import HoldfastService
import Testing

@Suite("Parts that are kept")
struct PartCacheTests {
  private let cache = PartCache()

  private func zone(seq: Int64) -> ZoneProgress {
    ZoneProgress(
      zone: "z", ack: ZoneAck(zone: "z", epoch: "e", seq: 1), isStored: true, seq: seq, purged: 0,
      role: "owner",
      wasLost: false)
  }

  @Test(
    "a small part is wanted at once, a large one when it is asked for again in the same state, a huge one never"
  )
  func wanted() {
    #expect(cache.wants(1000, of: zone(seq: 5), 100, "e"))
    #expect(!cache.wants(1 << 20, of: zone(seq: 5), 100, "e"))
    #expect(!cache.wants(1 << 20, of: zone(seq: 6), 100, "e"), "the zone has changed since")
    #expect(cache.wants(1 << 20, of: zone(seq: 6), 100, "e"))
    #expect(!cache.wants(1 << 20, of: zone(seq: 6), 10, "e"), "another part")
    for _ in 0..<2 { #expect(!cache.wants(1 << 25, of: zone(seq: 6), 100, "e")) }
  }

  @Test("a part is found in the state of its zone that it was kept for, and in no other (I4)")
  func found() {
    cache.put([1], WrittenChanges(last: 6, count: 5, seq: 6), of: zone(seq: 6), 100, "e")
    #expect(cache[zone(seq: 6), 100, "e"]?.bytes == [1])
    #expect(cache[zone(seq: 7), 100, "e"] == nil)
    #expect(cache[zone(seq: 6), 100, "f"] == nil)
    #expect(cache[zone(seq: 6), 10, "e"] == nil)
  }
}
