import HoldfastPostgres
import Testing

@Suite("Copying")
struct CopyTests {
  let fixture: Fixture
  var connection: PostgresConnection { fixture.connection }
  static let sql = "COPY item (id, text, bytes) FROM STDIN (FORMAT binary)"

  init() throws {
    fixture = try Fixture()
    try connection.execute("CREATE TABLE item (id bigint PRIMARY KEY, text text, bytes bytea)")
  }

  @Test("many rows are copied, with nulls and empty values")
  func many() throws {
    let count = try connection.copyIn(Self.sql) { copy in
      for number in 0..<20_000 {
        try copy.send(number, number % 2 == 0 ? nil : "row \(number)", number % 3 == 0 ? [] : [UInt8(3)])
      }
    }
    #expect(count == 20_000)
    let rows = try connection.query(
      "SELECT count(*), count(text), sum(length(bytes)), max(text) FILTER (WHERE id = 19999) FROM item")
    #expect(rows.int64(0, 0) == 20_000)
    #expect(rows.int64(0, 1) == 10_000)
    #expect(rows.int64(0, 2) == 13_333)
    #expect(rows.text(0, 3) == "row 19999")
  }

  @Test("a row that the server refuses undoes the copy")
  func refused() throws {
    let error = #expect(throws: PostgresError.self) {
      try connection.copyIn(Self.sql) { copy in
        for number in 0..<50_000 { try copy.send(number % 20_000, "row", [] as [UInt8]) }
      }
    }
    #expect(error?.code == .uniqueViolation)
    #expect(error?.action == .copying)
    #expect(try fixture.count("item") == 0)
  }

  @Test("a body that throws undoes the copy, and its error is handed on")
  func bodyThrows() throws {
    let failure = code {
      try connection.copyIn(Self.sql) { copy in
        for number in 0..<10_000 { try copy.send(number, "row", [] as [UInt8]) }
        try copy.send(10_000, "\0", [] as [UInt8])
      }
    }
    #expect(failure == .invalidText)
    #expect(connection.transactionStatus == .idle)
    #expect(try fixture.count("item") == 0)
  }

  @Test("what is no binary copy is refused")
  func misuse() throws {
    #expect(code { try connection.copyIn("SELECT 1") { _ in } } == .misuse)
    #expect(code { try connection.copyIn("COPY item FROM STDIN") { _ in } } == .misuse)
    #expect(code { try connection.copyIn("COPY nowhere FROM STDIN") { _ in } } == .undefinedTable)
    #expect(connection.isUsable == false || connection.transactionStatus == .idle)
  }

  @Test("a connection that is ended within a copy is lost, and says so")
  func ended() throws {
    let other = try PostgresConnection(fixture.url)
    let process = connection.serverProcess
    let error = #expect(throws: PostgresError.self) {
      try connection.copyIn(Self.sql) { copy in
        for number in 0..<10_000 { try copy.send(number, "row", [] as [UInt8]) }
        try other.run("SELECT pg_terminate_backend($1, 60000)", PostgresParameters(process))
        for number in 10_000..<40_000 { try copy.send(number, "row", [] as [UInt8]) }
      }
    }
    #expect(error?.isConnectionLost == true)
    #expect(!connection.isUsable)
  }
}
