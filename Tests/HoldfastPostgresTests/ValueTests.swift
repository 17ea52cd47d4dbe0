import HoldfastPostgres
import Testing

@Suite("Values")
struct ValueTests {
  let fixture: Fixture
  var connection: PostgresConnection { fixture.connection }

  init() throws { fixture = try Fixture() }

  @Test("a bigint of any size comes back", arguments: [0, 1, -1, Int64.min, .max, 1 << 32])
  func bigint(value: Int64) throws {
    #expect(try connection.query("SELECT $1", PostgresParameters(value)).int64(0, 0) == value)
  }

  @Test("every type comes back as it was sent")
  func types() throws {
    let rows = try connection.query(
      "SELECT $1, $2, $3, $4, $5, $6",
      PostgresParameters(Int32.min, true, -0.1, "é👩‍👩‍👧", [0, 255] as [UInt8], false))
    #expect(rows.int64(0, 0) == Int64(Int32.min))
    #expect(rows.bool(0, 1))
    #expect(rows.double(0, 2) == -0.1)
    #expect(rows.text(0, 3) == "é👩‍👩‍👧")
    #expect(rows.bytes(0, 4) == [0, 255])
    #expect(!rows.bool(0, 5))
    #expect(rows.columnCount == 6)
  }

  @Test("empty text and bytes are not null, and null of each type is")
  func nulls() throws {
    let rows = try connection.query(
      "SELECT $1, $2, $3, $4, $5, $6, $7",
      PostgresParameters(
        "", [] as [UInt8], nil as String?, nil as Int64?, nil as [UInt8]?, nil as Bool?, nil as Double?))
    #expect(rows.text(0, 0) == "")
    #expect(rows.bytes(0, 1) == [])
    #expect((2...6).allSatisfy { rows.isNull(0, $0) })
    #expect(rows.optionalText(0, 2) == nil)
    #expect(rows.optionalInt64(0, 3) == nil)
    #expect(rows.optionalBytes(0, 4) == nil)
    #expect(rows.optionalBool(0, 5) == nil)
    #expect(rows.optionalDouble(0, 6) == nil)
  }

  @Test("arrays with nulls become rows, side by side")
  func arrays() throws {
    var parameters = PostgresParameters()
    parameters.append(array: [1, nil, Int64.min])
    parameters.append(array: ["a", "", nil])
    parameters.append(array: [nil, [0, 1], []] as [[UInt8]?])
    parameters.append(array: [0.5, .infinity, nil])
    parameters.append(array: [true, nil, false])
    parameters.append(array: [nil, 7, 8] as [Int32?])
    let rows = try connection.query("SELECT * FROM unnest($1, $2, $3, $4, $5, $6)", parameters)
    #expect(rows.indices.map { rows.optionalInt64($0, 0) } == [1, nil, .min])
    #expect(rows.indices.map { rows.optionalText($0, 1) } == ["a", "", nil])
    #expect(rows.indices.map { rows.optionalBytes($0, 2) } == [nil, [0, 1], []])
    #expect(rows.indices.map { rows.optionalDouble($0, 3) } == [0.5, .infinity, nil])
    #expect(rows.indices.map { rows.optionalBool($0, 4) } == [true, nil, false])
    #expect(rows.indices.map { rows.optionalInt64($0, 5) } == [nil, 7, 8])
  }

  @Test("empty and lazy arrays work, and a buffer can be used again")
  func reuse() throws {
    var parameters = PostgresParameters()
    parameters.append(array: [] as [Int64])
    parameters.append(array: [] as [String?])
    let sum: PostgresStatement =
      "SELECT coalesce(sum(n), 0)::bigint, count(t) FROM unnest($1, $2) AS r (n, t)"
    #expect(try connection.query(sum, parameters).int64(0, 0) == 0)
    parameters.removeAll()
    parameters.append(array: (1...1000).lazy.map { Int64($0) })
    parameters.append(array: (1...1000).lazy.map { $0 % 2 == 0 ? nil : "row \($0)" })
    let rows = try connection.query(sum, parameters)
    #expect(rows.int64(0, 0) == 500_500)
    #expect(rows.int64(0, 1) == 500)
  }

  @Test("lent bytes are added and read without a copy")
  func lending() throws {
    var parameters = PostgresParameters()
    Array("text".utf8).withUnsafeBufferPointer { parameters.append(text: $0) }
    [1, 2, 3].map { UInt8($0) }.withUnsafeBytes { parameters.append(bytes: $0) }
    let rows = try connection.query("SELECT $1, $2", parameters)
    #expect(rows.withText(0, 0) { $0.elementsEqual("text".utf8) })
    #expect(rows.withBytes(0, 1) { Array($0) } == [1, 2, 3])
  }

  @Test("json, jsonb, enums and names read as text; smallint and real as numbers")
  func otherTypes() throws {
    try connection.execute("CREATE TYPE color AS ENUM ('red', 'blue')")
    let rows = try connection.query(
      "SELECT $1::jsonb, $1::json, 'blue'::color, 'n'::name, 3::smallint, 1.5::real",
      PostgresParameters("{\"a\": 1}"))
    #expect((0...3).map { rows.text(0, $0) } == ["{\"a\": 1}", "{\"a\": 1}", "blue", "n"])
    #expect(rows.int64(0, 4) == 3)
    #expect(rows.double(0, 5) == 1.5)
  }

  @Test("U+0000 in a text is refused before anything is sent, and names the parameter")
  func nul() throws {
    var parameters = PostgresParameters(1, "fine")
    parameters.append(array: ["a", "b\0c"])
    let error = #expect(throws: PostgresError.self) {
      try connection.query("SELECT $1, $2, $3", parameters)
    }
    #expect(error?.code == .invalidText)
    #expect(error?.message.contains("$3") == true)
    #expect(code { try connection.run("SELECT $1", PostgresParameters("\0")) } == .invalidText)
    parameters.removeAll()
    parameters.append([0] as [UInt8])
    #expect(try connection.query("SELECT $1", parameters).bytes(0, 0) == [0])
  }

  @Test("a change says how many rows it touched")
  func affected() throws {
    try connection.execute("CREATE TABLE item (id bigint PRIMARY KEY)")
    #expect(try connection.run("INSERT INTO item SELECT generate_series(1, 10)") == 10)
    #expect(try connection.run("DELETE FROM item WHERE id > $1", PostgresParameters(7)) == 3)
    #expect(try connection.query("SELECT id FROM item").affectedCount == 7)
  }
}
