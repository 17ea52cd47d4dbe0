import HoldfastCore

/// Cases of `JSONReader`, `JSONWriter` and `OperationWriter`.
enum JSONVectors {
  static var cases: [JSONValue] { texts + operations }

  /// Texts, and what is written of what was read of them; null where the text is refused.
  private static var texts: [JSONValue] {
    let nested = { (depth: Int) in
      String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    let all = [
      "null", " true ", "[1, 2,3]", #"{"b": 1, "a": [ ]}"#, "\"a\u{E9}\u{1F600}\"", #""\u00e9\ud83d\ude00""#,
      #""\/\b\f\n\r\t\"\\\u0001\u007f\u2028""#, "9223372036854775807", "-9223372036854775808", "-0", "0",
      "\"\u{2028}\"", nested(64), "{\"\": null}", "[]", "9007199254740993",
      // Refused.
      "", "[1,]", "{\"a\":1,\"a\":2}", #"{"a":1,"\u0061":2}"#, #""\ud800""#, #""\ude00\ud83d""#, "01", "+1",
      "1.", ".5", "NaN", "'a'", "\"\t\"", "[1] 2", "// a\n1", "{a:1}", nested(65), #""\x41""#, "tru",
      "\u{FEFF}1",
      "1e400",
    ]
    return all.map { text in
      let value = try? JSONValue(parsing: text)
      return [
        "text": .string(text),
        "written": value.map { .string(String(decoding: $0.bytes, as: UTF8.self)) } ?? .null,
      ]
    }
  }

  private static let table = TableSchema(
    "things", zone: .user,
    columns: [
      ColumnSchema("name", .text), ColumnSchema("count", .integer), ColumnSchema("done", .boolean),
      ColumnSchema("tags", .json), ColumnSchema("at", .timestamp), ColumnSchema("parent", .reference),
    ])

  private static func operation(
    _ kind: RecordOperation.Kind, rev: Int64 = 0, zone: String? = nil,
    _ settings: [(column: Int, value: Value, base: Value?)] = []
  ) -> JSONValue {
    let stamp = Stamp(milliseconds: 1_795_000_000_000)
    let id = "01912f3c-8a00-7000-8000-000000000001"
    var writer = OperationWriter()
    writer.write(
      kind, table: table, id: id, rev: rev, stamp: stamp,
      settings: settings.map { .init(column: $0.column, value: $0.value, base: $0.base) }, zone: zone)
    return [
      "op": .string(kind.rawValue), "table": .string(table.name), "id": .string(id), "rev": .integer(rev),
      "at": .string(stamp.text), "zone": zone.map { .string($0) } ?? .null,
      "columns": .array(
        settings.map { [.string(table.columns[$0.column].name), VectorFiles.json($0.value)] }),
      "base": .array(
        settings.compactMap { setting in
          setting.base.map { [.string(table.columns[setting.column].name), VectorFiles.json($0)] }
        }),
      "sealed": .string(String(decoding: writer.finish(), as: UTF8.self)),
    ]
  }

  /// Operations of one table, with the bytes of a change set that has each alone. Values are as a device keeps them: a boolean is 0 or 1, JSON is
  /// its text.
  private static var operations: [JSONValue] {
    [
      operation(
        .create,
        [
          (0, .text("Caf\u{E9} \"\u{1F600}\"\n"), nil), (1, .integer(9_007_199_254_740_993), nil),
          (2, .integer(1), nil), (3, .text(#"[ "a", 1.50 ]"#), nil),
          (4, .text("2026-11-21T10:00:00.000Z"), nil), (5, .null, nil),
        ]),
      operation(
        .update, rev: 7,
        [(0, .text("b"), .text("a")), (2, .integer(0), .integer(1)), (3, .null, .text(#"["a"]"#))]),
      operation(.delete, rev: 12),
      operation(.create, zone: "01912f3c-8a00-7000-8000-00000000000f", [(0, .text(""), nil)]),
    ]
  }
}
