import HoldfastCore
import HoldfastService
import Testing

@testable import HoldfastPostgresStore

/// What the readers know of devices that have just written.
@Suite struct CommittedDevicesTests {
  private let committed = CommittedDevices()
  private let history = History(epoch: "00000001")
  private let token = TokenHash(of: "a token")

  /// The lane has written transaction 7, and a reader has seen the device behind it.
  init() {
    commit(7)
    learn(snapshot: "8:8: 1")
  }

  private func commit(_ number: Int64) {
    committed.commit(Delta(newZones: [], records: []), number, history)
  }

  private func learn(snapshot: String, refusals: [StoredRefusal] = []) {
    let device = KnownDevice(
      key: DeviceKey(number: 1, user: "ann", token: token), confirmed: 3, chain: Fingerprint(value: 0),
      seenAt: 0, sessionAt: 0,
      acknowledgedRefusals: 0, isSessionUsed: true, issuedAfter: nil, hasPurgedAcks: false, client: nil)
    committed.learn([token: .init(device: device, refusals: refusals)], snapshot: snapshot, history)
  }

  private func isKnown(_ written: Int64?...) -> Bool {
    let lookUps = written.map { LookUp(token, .written(acks: [], created: []), written: $0) }
    return committed.devices(for: lookUps)?.found[token] != nil
  }

  @Test("an answer to a write takes its device from there if that write is in it, and no earlier (I1, I6)")
  func ownWrite() {
    #expect(isKnown(7))
    #expect(isKnown(5, 7))
    #expect(!isKnown(8))
    commit(8)
    #expect(isKnown(8))
  }

  @Test("what the same device asks beside its write is looked up, as others may have written since (I4, I10)")
  func otherQuestions() {
    #expect(!isKnown(7, nil))
    #expect(!isKnown(nil))
    #expect(!isKnown(7, 8))
  }

  @Test("another transaction ends what is known, and so does a connection that is new (I10)")
  func others() {
    commit(9)
    #expect(!isKnown(7))
    learn(snapshot: "9:9: 1")
    #expect(!isKnown(7), "the snapshot is of before the last transaction")
    learn(snapshot: "10:10: 1")
    #expect(isKnown(9))
    committed.removeAll()
    #expect(!isKnown(9))
  }
}
