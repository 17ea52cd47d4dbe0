package import HoldfastCore

extension Value {
  /// The number of an integer, or nil.
  package var integer: Int64? { if case .integer(let number) = self { number } else { nil } }

  /// The number of a real or an integer, or nil.
  package var real: Double? {
    switch self {
    case .real(let number): number
    case .integer(let number): Double(number)
    case .null, .text: nil
    }
  }
}

extension SyncSchema {
  /// The schema as the text of `holdfast.json`.
  package var text: String { String(decoding: json.bytes, as: UTF8.self) }
}
