import HoldfastSQLite
import Testing

@Suite("Values")
struct ValueTests {
  let database: TemporaryDatabase
  let connection: SQLiteConnection

  init() throws {
    database = try TemporaryDatabase()
    connection = try database.open()
    try connection.execute("CREATE TABLE kept (value)")
  }

  @Test(
    "a value of every kind comes back exactly",
    arguments: [
      .null, .integer(0), .integer(.min), .integer(.max), .real(0.1), .real(-0.0), .real(.infinity),
      .real(.leastNonzeroMagnitude), .real(.greatestFiniteMagnitude), .real(3), .text(""), .text("a\0b"),
      .text("héllo 🧺 𝄞"), .blob([]), .blob([0, 255, 0]), .blob([0xC3, 0x28]),
    ] as [SQLiteValue])
  func roundTrip(value: SQLiteValue) throws {
    try connection.run("INSERT INTO kept VALUES (?)", [value])
    #expect(try connection.value("SELECT value FROM kept") == value)
    let statement = try connection.statement("SELECT value AS it FROM kept")
    #expect(try statement.step())
    #expect(statement.columnKind(0) == value.kind)
    #expect(statement.columnName(0) == "it")
    #expect(statement.isNull(0) == value.isNull)
    statement.reset()
  }

  @Test("text and bytes bound from buffers are kept, and lent back without a copy")
  func buffers() throws {
    let insert = try connection.statement("INSERT INTO kept VALUES (?)")
    let bytes = Array("wörds\0more".utf8)
    try bytes.withUnsafeBufferPointer {
      try insert.bind(text: $0, at: 1)
      try insert.step()
      try insert.bind(staticText: $0, at: 1)
      try insert.step()
      try insert.bind(blob: UnsafeRawBufferPointer($0), at: 1)
      try insert.step()
      try insert.bind(text: UnsafeBufferPointer(start: nil, count: 0), at: 1)
      try insert.step()
      insert.clearBindings()
    }
    let expected: [SQLiteValue] = [
      .text("wörds\0more"), .text("wörds\0more"), .blob(bytes), .text(""),
    ]
    #expect(try connection.rows("SELECT value FROM kept").map { $0[0] } == expected)
    var lent: [[UInt8]] = []
    try connection.forEachRow("SELECT value FROM kept WHERE typeof(value) = 'text'") { row in
      lent.append(row.withText(0) { Array($0) })
      #expect(row.withText(0) { $0.baseAddress } == row.withText(0) { $0.baseAddress })
    }
    #expect(lent == [bytes, bytes, []])
  }

  @Test("a text that is not UTF-8 is given as its bytes; who asks for text gets it repaired")
  func badText() throws {
    try connection.execute("INSERT INTO kept VALUES (CAST(x'61FF62C3' AS TEXT))")
    #expect(try connection.value("SELECT value FROM kept") == .blob([0x61, 0xFF, 0x62, 0xC3]))
    let row = try connection.statement("SELECT value FROM kept")
    #expect(try row.step() && row.text(0) == "a\u{FFFD}b\u{FFFD}")
  }

  @Test("a column that does not exist reads as NULL")
  func missingColumn() throws {
    let statement = try connection.statement("SELECT 1")
    #expect(try statement.step())
    #expect(statement.value(7) == .null)
    #expect(statement.text(-1).isEmpty)
    #expect(statement.columnName(7).isEmpty)
    statement.reset()
  }

  @Test("literals stand for values")
  func literals() throws {
    #expect(
      try connection.row("SELECT ?, ?, ?, ?", [1, 2.5, "three", nil])
        == [.integer(1), .real(2.5), .text("three"), .null])
  }
}
