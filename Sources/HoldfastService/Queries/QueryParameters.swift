package import HoldfastCore

/// The parameters of a request's query string, in their order, each at most once.
package struct QueryParameters {
  package struct Item {
    package let name: String
    package let value: String
    /// The comma-separated values. Each is decoded after the split, so a comma inside a value is sent as `%2C`.
    package let list: [String]
  }

  package let items: [Item]

  /// Parses a query string.
  ///
  /// - Parameter decoded: decodes the escapes of a part; nil for an invalid escape.
  /// - Throws: `Problem.invalidRequest` for an invalid escape or a repeated parameter.
  package init(_ query: some StringProtocol, decoded: (Substring) -> String?) throws(Problem) {
    var items: [Item] = []
    var seen: TextSet = []
    for part in Substring(query).split(separator: "&") {
      let equals = part.firstIndex(of: "=") ?? part.endIndex
      let raw = part[equals...].dropFirst()
      guard let name = decoded(part[..<equals]), let value = decoded(raw) else {
        throw Problem(.invalidRequest, "The query has a wrong escape: \(part)")
      }
      guard seen.insert(name).inserted else {
        throw Problem(.invalidRequest, "The parameter \(name) is given twice.")
      }
      let list = raw.split(separator: ",", omittingEmptySubsequences: false).compactMap(decoded)
      items.append(Item(name: name, value: value, list: list))
    }
    self.items = items
  }

  /// The value of a parameter, or nil.
  package subscript(name: String) -> String? { items.first { $0.name == name }?.value }

  /// The values of a parameter with a list, or nil.
  package func list(_ name: String) -> [String]? { items.first { $0.name == name }?.list }

  /// Requires that there are no other parameters.
  ///
  /// - Throws: `Problem.invalidRequest`.
  package func requireOnly(_ names: String...) throws(Problem) {
    for item in items where !names.contains(item.name) { throw Self.unknown(item.name) }
  }

  /// An integer parameter within a range.
  ///
  /// - Throws: `Problem.invalidRequest`.
  package func number(_ name: String, in range: ClosedRange<Int>) throws(Problem) -> Int? {
    guard let text = self[name] else { return nil }
    guard text.utf8.allSatisfy({ (48...57).contains($0) }), let number = Int(text), range.contains(number)
    else {
      throw Problem(
        .invalidRequest, "\(name) must be a number from \(range.lowerBound) to \(range.upperBound).")
    }
    return number
  }

  /// The problem for an unknown parameter.
  package static func unknown(_ name: String) -> Problem {
    Problem(.invalidRequest, "There is no parameter \(name) here.")
  }
}
