import HoldfastCore
import Testing

@testable import HoldfastPostgresStore
@testable import HoldfastService

/// In which states of PostgreSQL what was read in another one is believed. Invariants I4, I7 and I10.
@Suite struct SnapshotStateTests {
  private let cache = PostgresReadCache()
  private let history = History(epoch: "00000001")
  private let token = TokenHash(of: "a token")

  private func state(_ text: String) -> SnapshotState { SnapshotState(text, connections: cache.connections) }

  /// A reader has read the device.
  private func read(_ text: String) { read(state(text)) }

  private func read(_ state: SnapshotState, refusals: [StoredRefusal] = []) {
    let device = KnownDevice(
      key: DeviceKey(number: 1, user: "ann", token: token), confirmed: 3, chain: Fingerprint(value: 0),
      seenAt: 0,
      sessionAt: 0, acknowledgedRefusals: 0, isSessionUsed: true, issuedAfter: nil, hasPurgedAcks: false,
      client: nil)
    let zone = ZoneProgress(
      zone: "z", ack: ZoneAck(zone: "z", epoch: "00000001", seq: 1), isStored: true, seq: 1, purged: 0,
      role: "owner", wasLost: false)
    cache.keep(
      [.init(device: device, zones: [zone], refusals: refusals, state: state, history: history)], history,
      at: state)
  }

  /// The lane has begun in a state, and committed.
  private func commit(_ text: String, _ number: Int64, _ delta: Delta? = Delta(newZones: [], records: [])) {
    cache.rows.enter(state(text))
    cache.rows.advance(from: state(text), to: .init(next: number + 1, connections: cache.connections), delta)
  }

  private func isKnown(_ text: String) -> Bool { !cache.devices([token], at: state(text)).isEmpty }

  private var moved: Delta {
    var delta = Delta(newZones: [], records: [])
    delta.movedZones = [MovedZone(zone: "z", before: 1, seq: 2, counts: ZoneCounts(records: 1, bytes: 1))]
    return delta
  }

  @Test("a commit of the lane leads to the next state, with what it has changed (I7)") func follows() {
    read("7:7:")
    commit("7:7:", 7, moved)
    #expect(!isKnown("7:7:"))
    let found = cache.devices([token], at: state("8:8:"))[token]
    #expect(found?.zones.first?.seq == 2 && found?.waiting.first?.zone == "z")
    #expect(cache.state == state("8:8:"))
  }

  @Test(
    "no other commit does: one of more than its delta, of another number, beside an open transaction (I10)",
    arguments: [("7:7:", 7, false), ("7:7:", 8, true), ("6:7:6", 7, true)])
  func others(before: String, number: Int64, isAll: Bool) {
    read(before)
    commit(before, number, isAll ? moved : nil)
    for text in ["8:8:", "9:9:", "6:8:6", before] { #expect(!isKnown(text)) }
  }

  @Test("a snapshot with open transactions is believed as it is, until another one is seen (I7)") func open()
  {
    read("5:9:5,7")
    #expect(isKnown("5:9:5,7") && !isKnown("7:9:7") && !isKnown("9:9:"))
    read("9:9:")
    #expect(!isKnown("5:9:5,7"))
  }

  @Test("what was read before the last commit ends nothing, and is not kept (I4)") func late() {
    read("7:7:")
    commit("7:7:", 7)
    read("7:7:")
    #expect(!isKnown("7:7:") && isKnown("8:8:"))
  }

  @Test("while the lane commits, what it has not heard of yet ends nothing (I7)") func meanwhile() {
    read("7:7:")
    cache.rows.enter(state("7:7:"))
    read("8:8:")
    #expect(!isKnown("8:8:"))
    cache.rows.advance(from: state("7:7:"), to: state("8:8:"), moved)
    #expect(cache.devices([token], at: state("8:8:"))[token]?.zones.first?.seq == 2)
    // A commit whose outcome is unknown.
    cache.rows.enter(state("8:8:"))
    cache.rows.leave()
    read("9:9:")
    #expect(isKnown("9:9:") && !isKnown("8:8:"))
  }

  @Test("a new connection ends it: a database that has crashed gives numbers out again (I2, I10)")
  func crash() {
    let before = state("7:7:")
    read(before)
    cache.open()
    #expect(!isKnown("7:7:") && cache.state == nil)
    // Who has asked before, or commits what began before.
    read(before)
    #expect(!isKnown("7:7:"))
    cache.rows.enter(before)
    cache.rows.advance(from: before, to: .init(next: 8, connections: before.connections), moved)
    #expect(!isKnown("8:8:"))
    read("7:7:")
    #expect(isKnown("7:7:"))
  }

  @Test("where others write before each look, it is not relied on") func otherWriters() {
    read("7:7:")
    #expect(cache.state == nil)
    read("9:9:")
    #expect(cache.state == nil)
    read("9:9:")
    #expect(cache.state == state("9:9:") && cache.state?.next == 9)
  }

  @Test("a device with refusals is read each time (I12)") func refusals() {
    read(state("7:7:"), refusals: [StoredRefusal(first: 1, last: 1, operation: 1, problem: [])])
    #expect(!isKnown("7:7:"))
  }
}
