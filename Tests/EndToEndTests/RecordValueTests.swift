import Foundation
import Holdfast
import Testing

@Suite("Swift values over the network")
struct RecordValueTests {
  private struct Stop: Codable, Equatable {
    var id = UUID()
    var at = Date()
    var amount = UInt64.max
    var note: String? = "null"
    var shares = ["é": 0.1, "b": 1e300, "": -0.5]
    var isOn: [Bool?] = [true, nil]
  }
  private struct Trip: Record, Equatable {
    static let table = "trips"
    var id: String
    var title: String
    var start: Date
    var identity = UUID()
    var image = Data((0...255).map { UInt8($0) })
    var price = Decimal(string: "-12345678901234567890.123456789012345678")
    var link = URL(string: "https://example.org/%20a?b=c#d")
    var weight = 0.1
    var height = Float(0.1)
    var count = Int64.min
    var level: UInt8 = 255
    var done = true
    var stops = [Stop(), Stop(note: nil)]
    var tag: UUID? = UUID()
    var raw = #"{"a":[1]}"#
    var number = 3
    var nothing: Stop?
  }

  @Test("are equal on another device, also after an edit there (I7)")
  func anotherDevice() async throws {
    let json = ["stops", "tag", "raw", "number", "nothing"].map { ColumnSchema($0, .json) }
    let texts = ["title", "identity", "image", "price", "link"].map { ColumnSchema($0, .text) }
    let schema = try SyncSchema(
      name: "trips",
      tables: [
        TableSchema(
          "trips", zone: .user,
          columns: texts + json + [
            ColumnSchema("start", .timestamp, required: true), ColumnSchema("weight", .real),
            ColumnSchema("height", .real),
            ColumnSchema("count", .integer), ColumnSchema("level", .integer), ColumnSchema("done", .boolean),
          ])
      ])
    let scene = try Scene(schema: schema)
    let phone = try await scene.signUp("ann", on: "phone")
    var trip = try await phone.store.write { db in
      let trip = Trip(
        id: db.newID(), title: "\u{1F6B2}", start: Date(timeIntervalSince1970: 1_800_000_000.999))
      try db.insert(trip)
      return trip
    }
    try await phone.engine.sync()
    let laptop = try await scene.signIn("ann", on: "laptop")
    try await laptop.engine.sync()
    let id = trip.id
    #expect(try await laptop.store.read { try $0.find(Trip.self, id: id) } == trip)
    trip = try await laptop.store.write { db in
      try db.update(Trip.self, id: id) {
        $0.stops[1].note = "seen"; $0.price = 0; $0.tag = nil
      }
    }
    try await laptop.engine.sync()
    try await phone.engine.sync()
    #expect(try await phone.store.read { try $0.find(Trip.self, id: id) } == trip)
    #expect(try await phone.store.read { try $0.rows("SELECT rev FROM trips").rows } == [[2]])
    #expect(try phone.contents(schema) == laptop.contents(schema))
  }
}
