package import HoldfastCore

/// A condition on the values of one column.
package struct RecordFilter: Equatable {
  package enum Test: Equatable {
    case equal(Value)
    case among([Value])
    case isNull
    case isNotNull
    case above(Value, orEqual: Bool)
    case below(Value, orEqual: Bool)
  }

  /// The index of the column in its table.
  package let column: Int
  package let test: Test

  package init(column: Int, test: Test) {
    (self.column, self.test) = (column, test)
  }

  /// Whether the filter matches single values, so that an index can use further columns.
  var picksValues: Bool {
    switch test {
    case .equal, .among, .isNull: true
    case .isNotNull, .above, .below: false
    }
  }

  /// Whether the filter matches single values other than null.
  package var picksReferences: Bool { picksValues && test != .isNull }

  /// The maximum number of values of `in`.
  package static let valueLimit = 200

  /// Parses the filters of one parameter, `where.COLUMN` or `where.COLUMN.OP`.
  ///
  /// - Throws: `Problem`: `unknownColumn`, `invalidRequest` for an unknown operator, `invalidValue`.
  package static func read(_ item: QueryParameters.Item, of table: TableSchema) throws(Problem)
    -> [RecordFilter]
  {
    let parts = item.name.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2 || parts.count == 3 else { throw QueryParameters.unknown(item.name) }
    guard let index = table.index(called: String(parts[1])) else {
      throw Problem(.unknownColumn, "\(table.name) has no column \(parts[1]).")
    }
    let column = table.columns[index]
    if column.type == .json {
      throw Problem(.invalidValue, "\(column.name): values of type json can't be compared.")
    }
    let tests: [Test]
    switch parts.count == 3 ? parts[2] : "" {
    case "" where parts.count == 2: tests = [.equal(try value(item.value, of: column))]
    case "gt": tests = [.above(try value(item.value, of: column), orEqual: false)]
    case "gte": tests = [.above(try value(item.value, of: column), orEqual: true)]
    case "lt": tests = [.below(try value(item.value, of: column), orEqual: false)]
    case "lte": tests = [.below(try value(item.value, of: column), orEqual: true)]
    case "in": tests = [.among(try values(item.list, of: column))]
    case "prefix": tests = try prefix(item.value, of: column)
    case "null":
      guard let flag = Bool(item.value) else {
        throw Problem(.invalidValue, "\(item.name) must be true or false.")
      }
      tests = [flag ? .isNull : .isNotNull]
    default:
      throw Problem(
        .invalidRequest, "\(item.name): the operators are gt, gte, lt, lte, in, prefix and null.")
    }
    return tests.map { RecordFilter(column: index, test: $0) }
  }

  private static func values(_ texts: [String], of column: ColumnSchema) throws(Problem) -> [Value] {
    if texts.count > valueLimit {
      throw Problem(.invalidValue, "\(column.name).in takes at most \(valueLimit) values.")
    }
    var values: [Value] = []
    for text in texts {
      let value = try value(text, of: column)
      if !values.contains(value) { values.append(value) }
    }
    return values
  }

  /// The range of texts with a prefix: from the prefix to its successor, exclusive.
  private static func prefix(_ text: String, of column: ColumnSchema) throws(Problem) -> [Test] {
    guard column.type == .text else {
      throw Problem(.invalidValue, "\(column.name) is no text: only texts have a prefix.")
    }
    let from = Test.above(try value(text, of: column), orEqual: true)
    return successor(text).map { [from, .below(.text($0), orEqual: false)] } ?? [from]
  }

  /// The least text that is greater, byte by byte, than all texts that begin with `text`; nil if there is none. UTF-8 sorts bytes like code
  /// points. The surrogate code points are skipped.
  package static func successor(_ text: String) -> String? {
    var scalars = Array(text.unicodeScalars)
    while let last = scalars.popLast() {
      let next = last.value == 0xD7FF ? 0xE000 : last.value + 1
      guard let scalar = Unicode.Scalar(next) else { continue }
      scalars.append(scalar)
      var result = String.UnicodeScalarView()
      result.append(contentsOf: scalars)
      return String(result)
    }
    return nil
  }

  /// Parses a plain text as a value of a column. Ignores the schema's limits: a value beyond them matches no record.
  private static func value(_ text: String, of column: ColumnSchema) throws(Problem) -> Value {
    switch column.type {
    case .text, .position: if !text.utf8.contains(0) { return .text(text) }
    case .reference: if Identifier.isPossible(text) { return .text(text) }
    case .timestamp: if Timestamp.isValid(text) { return .text(text) }
    case .boolean: if let flag = Bool(text) { return .integer(flag ? 1 : 0) }
    case .integer:
      let digits = text.utf8.first == UInt8(ascii: "-") ? text.utf8.dropFirst() : text.utf8[...]
      if digits.allSatisfy({ (48...57).contains($0) }), let number = Int64(text) { return .integer(number) }
    case .real:
      let marks = Array("0123456789+-.eE".utf8)
      if text.utf8.allSatisfy({ marks.contains($0) }), let number = Double(text), number.isFinite {
        return .real(number)
      }
    case .json: break
    }
    throw Problem(.invalidValue, "\(column.name) takes values of type \(column.type.rawValue).")
  }
}
