import HoldfastCore

extension SQLiteValue {
  /// A list for `json_each`.
  package static func list(_ texts: some Sequence<String>) -> SQLiteValue {
    list(texts.map { JSONValue.string($0) })
  }

  /// A list for `json_each`.
  package static func list(_ numbers: some Sequence<Int64>) -> SQLiteValue {
    list(numbers.map { JSONValue.integer($0) })
  }

  private static func list(_ elements: [JSONValue]) -> SQLiteValue {
    .text(String(decoding: JSONValue.array(elements).bytes, as: UTF8.self))
  }
}
