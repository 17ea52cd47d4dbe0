extension ColumnSchema {
  /// Checks a value against the column's type and limits, and null against `required`.
  ///
  /// - Throws: `Problem` naming the column: `valueMissing`, `invalidValue`, `valueTooLong` or `invalidID`.
  package func check(_ value: Value) throws(Problem) {
    switch (type, value) {
    case (_, .null):
      if required { throw Problem(.valueMissing, "\(name) is required.") }
    case (.text, .text(let text)):
      if text.hasNull {
        throw Problem(.invalidValue, "\(name) must not contain the character U+0000.")
      }
      // Scalars are counted only if the byte count exceeds the limit.
      if text.utf8.count > lengthLimit, text.unicodeScalars.count > lengthLimit {
        throw Problem(.valueTooLong, "\(name) has more than \(lengthLimit) characters.")
      }
      if !oneOf.isEmpty, !oneOf.contains(text) {
        throw Problem(.invalidValue, "\(name) must be one of \(oneOf.joined(separator: ", ")).")
      }
    case (.json, .text(let text)):
      let limit = maximumLength ?? 100_000
      if text.utf8.count > limit { throw Problem(.valueTooLong, "\(name) has more than \(limit) bytes.") }
      try checkJSON(text)
      if policy == .set, !MergePolicy.isSet(text) {
        throw Problem(.invalidValue, "\(name) must be an array of texts, each once.")
      }
    case (.integer, .integer(let number)):
      if number < minimum ?? .min || number > maximum ?? .max {
        throw Problem(.invalidValue, "\(name) must be from \(minimum ?? .min) to \(maximum ?? .max).")
      }
    case (.boolean, .integer(let number)):
      if number != 0, number != 1 { throw Problem(.invalidValue, "\(name) must be true or false.") }
    case (.real, .real(let number)):
      if !number.isFinite { throw Problem(.invalidValue, "\(name) must be finite.") }
    case (.timestamp, .text(let text)):
      if !Timestamp.isValid(text) {
        throw Problem(.invalidValue, "\(name) must be a time like 2026-11-21T10:00:00.000Z.")
      }
    case (.reference, .text(let text)):
      if !Identifier.isPossible(text) { throw Problem(.invalidID, "\(name) must be the id of a record.") }
    case (.position, .text(let text)):
      if (try? Position(validating: text)) == nil { throw Problem(.invalidValue, "\(name) is no position.") }
    default: throw Problem(.invalidValue, "\(name) must be of type \(type.rawValue).")
    }
  }

  /// The maximum nesting of arrays and objects in a JSON value. `[]` has depth 1.
  package static let jsonDepthLimit = 32

  /// Checks that a text is JSON, and not nested too deep. Requests and answers add nesting of their own, and their depth is limited too.
  private func checkJSON(_ text: String) throws(Problem) {
    do {
      try JSONReader.read(text, maximumDepth: ColumnSchema.jsonDepthLimit) { try $0.skipValue() }
    } catch {
      guard (error as? JSONError)?.code == .tooDeep else {
        throw Problem(.invalidValue, "\(name) must be JSON.")
      }
      throw Problem(.invalidValue, "\(name) nests deeper than \(ColumnSchema.jsonDepthLimit).")
    }
    if Self.hasFarExponent(text) {
      throw Problem(.invalidValue, "\(name) has a number with an exponent beyond \(Self.exponentLimit).")
    }
  }

  /// The greatest exponent of a number in a JSON value, either way: that of a double. PostgreSQL's `jsonb` writes numbers out, and would make a hundred
  /// thousand digits of a few bytes.
  private static let exponentLimit = 308

  private static func hasFarExponent(_ json: String) -> Bool {
    var (isText, isEscaped, exponent) = (false, false, Int?.none)
    for byte in json.utf8 {
      switch byte {
      case _ where isEscaped: isEscaped = false
      case UInt8(ascii: "\\"): isEscaped = true
      case UInt8(ascii: "\""): (isText, exponent) = (!isText, nil)
      case _ where isText: continue
      // Also that of `true` and `false`, behind which no digit comes.
      case UInt8(ascii: "e"), UInt8(ascii: "E"): exponent = 0
      case UInt8(ascii: "0")...UInt8(ascii: "9"):
        exponent = exponent.map { min($0 * 10 + Int(byte - UInt8(ascii: "0")), 10_000) }
        if let exponent, exponent > exponentLimit { return true }
      case UInt8(ascii: "+"), UInt8(ascii: "-"): continue
      default: exponent = nil
      }
    }
    return false
  }
}
