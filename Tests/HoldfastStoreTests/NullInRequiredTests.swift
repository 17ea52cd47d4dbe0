import HoldfastCore
import ServerScenes
import Testing

@testable import HoldfastServer

/// Null in a required column, which SQL wrote round the service. Invariants I7, I12.
@Suite struct NullInRequiredTests {
  private static let schema = """
    {"holdfast": 1, "name": "values", "tables": {"things": {"zone": {"public": "all"}, "columns": {
      "name": {"type": "text", "required": true, "default": "?"}, "more": {"type": "json", "required": true}, "free": {"type": "json"}}}}}
    """

  @Test("a device gets a record without its required columns that are null, and the doctor counts them")
  func omitted() throws {
    let server = try TestServer(SyncSchema(json: Array(Self.schema.utf8)))
    let columns = "name, more, free"
    try server.change(
      sqlite: """
        INSERT INTO things (seq, rev, stamps, id, zone, \(columns)) VALUES (1, 1, '', 'a', 'all', 'x', 'null', 'null'),
          (2, 1, '', 'b', 'all', 'y', ' null ', NULL), (3, 1, '', 'c', 'all', 'z', '"null"', '[]');
        UPDATE holdfast_zones SET seq = 3 WHERE zone = 'all'
        """,
      postgres: """
        INSERT INTO things (id, zone, \(columns)) VALUES ('a', 'all', 'x', 'null', 'null'), ('b', 'all', 'y', ' null ', NULL),
          ('c', 'all', 'z', '"null"', '[]');
        ALTER TABLE things ALTER name DROP NOT NULL; UPDATE things SET name = NULL WHERE id = 'b'
        """)
    let device = try server.signUp("ann")
    device.unsentAcks = [.init(zone: "all", token: "")]
    try device.pull()
    let isPostgres = if case .postgres = server.location { true } else { false }
    #expect(device.records["things a"]?.columns == ["name": "x", "free": .null])
    #expect(
      device.records["things b"]?.columns == (isPostgres ? ["free": .null] : ["name": "y", "free": .null]))
    #expect(device.records["things c"]?.columns == ["name": "z", "more": "null", "free": []])
    let doubts = try Administration(server.location).doubts().filter { $0.kind == .value }.map(\.text)
    #expect(doubts.contains { $0.hasPrefix("2 of things.more") && $0.contains("required") }, "\(doubts)")
    #expect(doubts.count == (isPostgres ? 2 : 1), "\(doubts)")
  }
}
