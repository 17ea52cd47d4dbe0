import Foundation
import Testing

@testable import Holdfast

@Suite("Swift values in columns")
struct RecordValueTests {
  /// A record of one column, whose table is named after the column's type.
  private struct Sample<Column: ColumnOfTest, Value: Codable & Equatable & Sendable>: Record {
    static var table: String { "\(Column.type.rawValue)_samples" }
    var id: String
    var value: Value?
  }

  private protocol ColumnOfTest: Sendable { static var type: ColumnType { get } }
  private enum Text: ColumnOfTest { static let type = ColumnType.text }
  private enum Whole: ColumnOfTest { static let type = ColumnType.integer }
  private enum Real: ColumnOfTest { static let type = ColumnType.real }
  private enum Truth: ColumnOfTest { static let type = ColumnType.boolean }
  private enum Time: ColumnOfTest { static let type = ColumnType.timestamp }
  private enum JSON: ColumnOfTest { static let type = ColumnType.json }

  private enum Colour: String, Codable { case red, bracket = "[", quoted = "\"red\"", null }
  private enum Level: Int, Codable { case low = -1, high = 7 }
  private enum Shape: Codable, Equatable { case dot, circle(radius: Double) }
  private struct Name: Codable, Equatable {
    let text: String
    init(_ text: String) { self.text = text }
    init(from decoder: any Decoder) throws { text = try decoder.singleValueContainer().decode(String.self) }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(text)
    }
  }
  private struct Inner: Codable, Equatable {
    var id = UUID()
    var date = Date()
    var data = Data([0, 255])
    var price = Decimal(string: "12345678901234567890.123456789")
    var url = URL(string: "https://example.org/a?b=c#d")
    var big = UInt64.max
    var small: Int8 = -128
    var real = 0.1
    var nested: [[Colour?]] = [[.red, nil]]
    var byName = ["b": 1, "a": 2, "é": 3]
    var shape = Shape.circle(radius: 1.5)
  }
  private enum Failing: Error { case asked }
  private struct Strange: Codable, Equatable, Sendable {
    enum Kind: String, Codable { case nothing, throwing, keyedAfterwards }
    var kind: Kind
    func encode(to encoder: any Encoder) throws {
      if kind == .throwing { throw Failing.asked }
      if kind == .keyedAfterwards {
        var container = encoder.unkeyedContainer()
        try container.encode(1)
        _ = container.superEncoder()
      }
    }
  }

  private static func fixture() throws -> Fixture {
    try Fixture(
      schema: try SyncSchema(
        name: "samples",
        tables: ColumnType.allCases.filter { $0 != .reference }.map {
          TableSchema("\($0.rawValue)_samples", zone: .user, columns: [ColumnSchema("value", $0)])
        }))
  }

  private let fixture: Fixture

  init() throws { fixture = try Self.fixture() }

  /// Writes a value, and reads it back in each way that there is.
  private func expectSame<Column: ColumnOfTest, Value: Codable & Equatable & Sendable>(
    _ type: Column.Type, _ value: Value, at location: SourceLocation = #_sourceLocation
  ) async throws {
    let record = Sample<Column, Value>(id: fixture.store.environment.newID(), value: value)
    try await fixture.store.write { try $0.insert(record) }
    try await fixture.store.read { db in
      let sql = "SELECT value FROM \(Sample<Column, Value>.table) WHERE id = ?"
      let found = try db.find(Sample<Column, Value>.self, id: record.id)
      #expect(found?.value == value, sourceLocation: location)
      #expect(try db.first(Value?.self, sql, [.text(record.id)]) == value, sourceLocation: location)
    }
    let waiting = try await fixture.store.waitingOperations()
    // What was not changed is no edit.
    try await fixture.store.write { _ = try $0.update(Sample<Column, Value>.self, id: record.id) { _ in } }
    #expect(try await fixture.store.waitingOperations() == waiting, sourceLocation: location)
  }

  /// Expects that a value is refused when it is written, with the names of its table and column.
  private func expectUnfit<Column: ColumnOfTest, Value: Codable & Equatable & Sendable>(
    _ type: Column.Type, _ value: Value, at location: SourceLocation = #_sourceLocation
  ) async {
    let record = Sample<Column, Value>(id: fixture.store.environment.newID(), value: value)
    let error = await #expect(throws: StoreError.self, sourceLocation: location) {
      try await fixture.store.write { try $0.insert(record) }
    }
    #expect(error?.code == .valueUnfit, sourceLocation: location)
    #expect(
      error?.description.contains("\(Sample<Column, Value>.table).value: ") == true, sourceLocation: location)
  }

  @Test("of plain types read back as they were written")
  func plain() async throws {
    for text in ["", "a", "e\u{301}", "\"", "{", "[1]", "null", "true", "3"] {
      try await expectSame(Text.self, text)
      try await expectSame(Text.self, Name(text))
    }
    for colour in [Colour.red, .bracket, .quoted, .null] { try await expectSame(Text.self, colour) }
    for number in [Int64.min, -1, 0, 1, .max] { try await expectSame(Whole.self, number) }
    try await expectSame(Whole.self, Int.min)
    try await expectSame(Whole.self, Int8.min)
    try await expectSame(Whole.self, UInt8.max)
    try await expectSame(Whole.self, Int16.min)
    try await expectSame(Whole.self, UInt16.max)
    try await expectSame(Whole.self, Int32.min)
    try await expectSame(Whole.self, UInt32.max)
    try await expectSame(Whole.self, UInt64(Int64.max))
    try await expectSame(Whole.self, UInt(7))
    try await expectSame(Whole.self, Level.low)
    try await expectSame(Whole.self, true)
    try await expectSame(Whole.self, 3.0)
    for number in [0, -0.0, 0.1, -1.5, .leastNonzeroMagnitude, Double.greatestFiniteMagnitude, 1e16, 3] {
      try await expectSame(Real.self, number)
    }
    try await expectSame(Real.self, Float(0.1))
    try await expectSame(Real.self, Float.greatestFiniteMagnitude)
    try await expectSame(Real.self, 1 << 53)
    for isTrue in [true, false] { try await expectSame(Truth.self, isTrue) }
    try await expectSame(Truth.self, 1)
  }

  @Test("of Foundation's types read back as they were written; a time to the millisecond")
  func foundation() async throws {
    let id = UUID()
    try await expectSame(Text.self, id)
    try await expectSame(JSON.self, id)
    for data in [Data(), Data([0]), Data((0...255).map { UInt8($0) })] {
      try await expectSame(Text.self, data)
      try await expectSame(JSON.self, data)
    }
    for text in [
      "0", "-0.1", "12345678901234567890123456789012345678", "0.00000000000000000000000000000000000001",
      "1e127", "-3.40282366920938463463374607431768211455",
    ] {
      let number = try #require(Decimal(string: text))
      try await expectSame(Text.self, number)
      try await expectSame(JSON.self, number)
    }
    for text in [
      "https://example.org/%20a?b=c#d", "mailto:a@example.org", "relative/path", "file:///tmp/a%20b",
    ] {
      let url = try #require(URL(string: text))
      try await expectSame(Text.self, url)
      try await expectSame(JSON.self, url)
    }
    for seconds in [0, -0.001, 1.25, 1_800_000_000.999, -62_167_219_200, 253_402_300_799.999] {
      let date = Date(timeIntervalSince1970: seconds)
      try await expectSame(Time.self, date)
      try await expectSame(Text.self, date)
      try await expectSame(JSON.self, date)
    }
    #expect(
      try await fixture.value(
        "SELECT count(*) FROM text_samples WHERE value = '\(id.uuidString.lowercased())'") == 1)
    let exact = Date(timeIntervalSince1970: 1_700_000_000.0004)
    let record = Sample<Time, Date>(id: fixture.store.environment.newID(), value: exact)
    try await fixture.store.write { try $0.insert(record) }
    let read = try await fixture.store.read { try $0.find(Sample<Time, Date>.self, id: record.id)?.value }
    #expect(read == Date(timeIntervalSince1970: 1_700_000_000))
  }

  @Test("that have members or elements read back from JSON as they were written")
  func nested() async throws {
    try await expectSame(JSON.self, Inner())
    try await expectSame(JSON.self, [Inner()])
    try await expectSame(JSON.self, ["a", "", "null"])
    try await expectSame(JSON.self, Set([2, 1]))
    try await expectSame(JSON.self, [String]())
    try await expectSame(JSON.self, [1: "a", 2: "b"])
    try await expectSame(JSON.self, Shape.dot)
    try await expectSame(JSON.self, Shape.circle(radius: -1))
    try await expectSame(JSON.self, [Double?.none, 1])
    for number in [0, -7, Int64.min] { try await expectSame(JSON.self, number) }
    for number in [0.1, 1e300, -3] { try await expectSame(JSON.self, number) }
    try await expectSame(JSON.self, Float(0.1))
    try await expectSame(JSON.self, true)
    try await expectSame(JSON.self, #"{"a":[1]}"#)
    try await expectSame(JSON.self, #""a""#)
  }

  @Test("that could not be read back as they are throw when they are written, with table and column")
  func unfit() async throws {
    for number in [Double.nan, .infinity, -.infinity] {
      await expectUnfit(Real.self, number)
      await expectUnfit(JSON.self, number)
      await expectUnfit(JSON.self, [number])
    }
    await expectUnfit(Real.self, -Float.infinity)
    await expectUnfit(Real.self, (1 << 53) + 1)
    await expectUnfit(Real.self, "1")
    await expectUnfit(Whole.self, UInt64(Int64.max) + 1)
    await expectUnfit(JSON.self, UInt64.max)
    await expectUnfit(Whole.self, 0.5)
    await expectUnfit(Whole.self, 1e300)
    await expectUnfit(Whole.self, "3")
    await expectUnfit(Whole.self, Date())
    await expectUnfit(Truth.self, "true")
    await expectUnfit(Text.self, 3)
    await expectUnfit(Text.self, true)
    await expectUnfit(Text.self, 0.5)
    await expectUnfit(Text.self, Inner())
    await expectUnfit(Text.self, ["a"])
    await expectUnfit(Whole.self, [1])
    await expectUnfit(Text.self, Shape.dot)
    await expectUnfit(JSON.self, "null")
    await expectUnfit(JSON.self, " null ")
    await expectUnfit(Text.self, Decimal.nan)
    await expectUnfit(Text.self, URL(string: "b", relativeTo: URL(string: "https://example.org/a/")))
    for seconds in [Double.infinity, .nan, 1e300, 253_402_300_800, -62_167_219_201] {
      await expectUnfit(Time.self, Date(timeIntervalSince1970: seconds))
    }
    await expectUnfit(Text.self, Strange(kind: .nothing))
    await expectUnfit(JSON.self, Strange(kind: .nothing))
    await #expect(throws: Failing.self) {
      let record = Sample<JSON, Strange>(
        id: fixture.store.environment.newID(), value: Strange(kind: .throwing))
      try await fixture.store.write { try $0.insert(record) }
    }
    await expectUnfit(Text.self, Strange(kind: .keyedAfterwards))
    // The schema's own rules.
    for (table, text) in [
      ("json_samples", "no JSON"), ("text_samples", "a\0"), ("timestamp_samples", "today"),
    ] {
      await #expect(throws: Problem.self, "\(table)") {
        try await fixture.store.write {
          try $0.execute("INSERT INTO \(table) (value) VALUES (?)", [.text(text)])
        }
      }
    }
    #expect(try await fixture.outbox().isEmpty)
  }

  @Test("whatever a query gives is read as a type or throws, and never ends the app")
  func anyValue() async throws {
    let values = [
      "NULL", "1", "-1", "9223372036854775807", "1.5", "1e300", "-9e999", "''", "'x'", "'null'", "'\"x\"'",
      "'[1,'",
      "'{\"a\":1}'", "'[[]]'", "x''", "x'ff00ff'", "CAST(x'ff' AS TEXT)", "char(0)",
      "'99999999-9999-9999-9999-999999999999'", "'2026-02-30T00:00:00.000Z'", "printf('%.*c', 5000, '[')",
      "'18446744073709551616'", "'1e999'", "'data:,'",
    ]
    var (read, refused) = (0, 0)
    func attempt<T: Decodable & Sendable>(_ type: T.Type) async throws {
      for value in values {
        do {
          _ = try await fixture.store.read {
            try $0.fetch(type, "SELECT \(unsafe: value) AS value, '1' AS id")
          }
          read += 1
        } catch let error as StoreError {
          #expect(error.code == .valueUnfit)
          refused += 1
        }
      }
    }
    try await attempt(Bool.self)
    try await attempt(String.self)
    try await attempt(Double.self)
    try await attempt(Float.self)
    try await attempt(Int.self)
    try await attempt(Int8.self)
    try await attempt(UInt64.self)
    try await attempt(Int?.self)
    try await attempt(UUID.self)
    try await attempt(Date.self)
    try await attempt(Data.self)
    try await attempt(Decimal.self)
    try await attempt(URL.self)
    try await attempt(Date?.self)
    try await attempt([Int].self)
    try await attempt(Colour.self)
    try await attempt(Level.self)
    try await attempt(Shape.self)
    try await attempt(Name.self)
    try await attempt(JSONTree.self)
    try await attempt(Sample<Text, Colour>.self)
    try await attempt(Sample<Whole, UInt8>.self)
    try await attempt(Sample<Time, Date>.self)
    try await attempt(Sample<Text, Decimal>.self)
    try await attempt(Sample<JSON, Inner>.self)
    try await attempt(Sample<JSON, [JSONTree]>.self)
    #expect(read > 90 && refused > 500, "\(read) read, \(refused) refused")
    await #expect(throws: StoreError.self) {
      try await fixture.store.read { try $0.fetch(Sample<Text, String>.self, "SELECT 1") }
    }
  }

  /// JSON of any depth.
  private struct JSONTree: Codable, Equatable {
    var elements: [JSONTree] = []
    init(from decoder: any Decoder) throws {
      var container = try decoder.unkeyedContainer()
      while !container.isAtEnd { elements.append(try container.decode(JSONTree.self)) }
    }
    func encode(to encoder: any Encoder) throws { try elements.encode(to: encoder) }
  }

  @Test("a null that a required column of JSON has for want of a value is nil")
  func jsonNull() async throws {
    let found = try await fixture.store.read {
      try $0.fetch(Sample<JSON, [String]>.self, "SELECT '1' AS id, 'null' AS value")
    }
    #expect(found.map(\.value) == [nil])
  }

  @Test("an optional that is nil is null, not left out")
  func nils() async throws {
    let record = Sample<Text, String>(id: fixture.store.environment.newID(), value: "Milk")
    try await fixture.store.write { try $0.insert(record) }
    try await fixture.store.write {
      try $0.update(Sample<Text, String>.self, id: record.id) { $0.value = nil }
    }
    #expect(try await fixture.value("SELECT value IS NULL FROM text_samples") == 1)
  }
}
