import HoldfastCore
import HoldfastHTTP

/// The parameters of a request's query, in their order, each at most once.
struct QueryParameters {
  struct Item {
    let name: String
    /// As it was sent: a comma that belongs to a value is `%2C` there.
    let raw: Substring
    let value: String

    /// The values between the commas, each unescaped after they were parted.
    var list: [String] {
      raw.split(separator: ",", omittingEmptySubsequences: false).compactMap(HTTPRequest.decoded)
    }
  }

  let items: [Item]

  /// Reads a query.
  ///
  /// - Throws: `Problem.invalidRequest` for a wrong escape, and a parameter that is there twice.
  init(_ request: HTTPRequest) throws(Problem) {
    var items: [Item] = []
    var seen: TextSet = []
    for part in request.query.split(separator: "&") {
      let equals = part.firstIndex(of: "=") ?? part.endIndex
      let raw = part[equals...].dropFirst()
      guard let name = HTTPRequest.decoded(part[..<equals]), let value = HTTPRequest.decoded(raw) else {
        throw Problem(.invalidRequest, "The query has a wrong escape: \(part)")
      }
      guard seen.insert(name).inserted else {
        throw Problem(.invalidRequest, "The parameter \(name) is given twice.")
      }
      items.append(Item(name: name, raw: raw, value: value))
    }
    self.items = items
  }

  /// The value of a parameter, or nil.
  subscript(name: String) -> String? { items.first { $0.name == name }?.value }

  /// The values of a parameter that has many, or nil.
  func list(_ name: String) -> [String]? { items.first { $0.name == name }?.list }

  /// Checks that there are no others than these.
  ///
  /// - Throws: `Problem.invalidRequest`.
  func requireOnly(_ names: String...) throws(Problem) {
    for item in items where !names.contains(item.name) { throw Self.unknown(item.name) }
  }

  /// A whole number in a range.
  ///
  /// - Throws: `Problem.invalidRequest`.
  func number(_ name: String, in range: ClosedRange<Int>) throws(Problem) -> Int? {
    guard let text = self[name] else { return nil }
    guard text.utf8.allSatisfy({ (48...57).contains($0) }), let number = Int(text), range.contains(number)
    else {
      throw Problem(
        .invalidRequest, "\(name) must be a number from \(range.lowerBound) to \(range.upperBound).")
    }
    return number
  }

  /// What a parameter is answered with that means nothing here.
  static func unknown(_ name: String) -> Problem {
    Problem(.invalidRequest, "There is no parameter \(name) here.")
  }
}
