import HoldfastCore
import HoldfastPostgres
import ServerScenes
import Testing

@testable import HoldfastServer

/// What servers on one database tell each other.
@Suite struct PayloadTests {
  /// Names with each ASCII character but U+0000, alone and inside, and some of several bytes.
  private static let names =
    (1...127).flatMap { code -> [String] in
      let character = String(decoding: [UInt8(code)], as: UTF8.self)
      return [character, "a\(character)b", "\(character)\(character)z"]
    } + ["é", "e\u{301}", "\u{301}x", "日本 語=1", "%20", "%", "%4", "👩‍👧"]

  /// What all payloads say together.
  private func read(_ payloads: [String]) throws -> ZoneChanges {
    var changes = ZoneChanges()
    for payload in payloads { changes.add(try #require(ZoneChanges(payload: payload))) }
    return changes
  }

  @Test("every name of a zone and a user comes through a notification as it was") func names() throws {
    for (number, name) in Self.names.enumerated() {
      var changes = ZoneChanges()
      changes.add(zone: name, by: number % 2 == 0 ? Int64(number) : nil)
      changes.users = ["\(name)!"]
      changes.devices = [Int64(number)]
      #expect(try read(changes.payloads(from: "0a1b")) == changes, "\(name.debugDescription)")
    }
  }

  @Test("no notification has 8,000 bytes, whatever the names are") func size() throws {
    var changes = ZoneChanges()
    for number in 0..<900 { changes.add(zone: String(repeating: "=", count: 60) + "\(number)", by: nil) }
    let payloads = changes.payloads(from: "0a1b")
    #expect(payloads.allSatisfy { $0.utf8.count < 8000 })
    #expect(try read(payloads) == changes)
    var long = ZoneChanges()
    long.add(zone: String(repeating: "x", count: 9000), by: nil)
    #expect(long.payloads(from: "0a1b") == ["0a1b *"])
  }

  @Test("triggers tell the same, of each zone's name by itself and of many together") func triggers() throws {
    let ledger = try TestLedger()
    let listener = try ledger.another().connection
    try listener.listen("holdfast")
    let names = Self.names.filter { $0.utf8.count <= 60 }
    // By bytes: é is two names here.
    let zones = Dictionary(names.map { (Array($0.utf8), $0) }) { first, _ in first }.values
    for zone in zones {
      try ledger.writer.connection.run(
        "INSERT INTO lists (id, title) VALUES ($1, 'x')", PostgresParameters(zone))
      let received = try listener.notifications(timeout: .seconds(60)).map(\.payload)
      let sent = try Array(read(received).zones.keys)
      #expect(sent == [zone], "\(zone.debugDescription)")
    }
    try ledger.writer.run(
      "INSERT INTO lists (id, title) SELECT repeat('=', 60) || n, 'x' FROM generate_series(1, 400) n")
    var changes = ZoneChanges()
    while changes.zones.count < 400 {
      for received in try listener.notifications(timeout: .seconds(60)) {
        #expect(received.payload.utf8.count < 8000)
        changes.add(try #require(ZoneChanges(payload: received.payload)))
      }
    }
  }
}
