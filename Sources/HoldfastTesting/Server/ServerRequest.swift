import HoldfastCore

/// A request as it reaches the server of a test.
struct ServerRequest: Sendable {
  let method: String
  /// The path's parts, without the query.
  let path: [String]
  /// The query's members.
  let query: [(name: String, value: String)]
  let token: String?
  let body: [UInt8]

  /// - Parameter target: the path, and the query behind a question mark.
  init(method: String, target: String, token: String?, body: [UInt8]) {
    let parts = target.split(separator: "?", maxSplits: 1)
    path = parts.first.map { $0.split(separator: "/").map(String.init) } ?? []
    query = (parts.count > 1 ? parts[1].split(separator: "&") : []).map { member in
      let words = member.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      return (String(words[0]), words.count > 1 ? Self.decoded(words[1]) : "")
    }
    (self.method, self.token, self.body) = (method, token, body)
  }

  /// A text with its percent-encoded bytes decoded. Source: RFC 3986, section 2.1.
  private static func decoded(_ text: Substring) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), rest.count >= 2,
        let decoded = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
      {
        bytes.append(decoded)
        rest.removeFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The parts that stand for `*` in a pattern such as `v1/zones/*/grants`; nil when the path has another form.
  func matches(_ pattern: String) -> [String]? {
    let words = pattern.split(separator: "/")
    guard words.count == path.count else { return nil }
    var found: [String] = []
    for (word, part) in zip(words, path) {
      if word == "*" { found.append(part) } else if word != part { return nil }
    }
    return found
  }
}

/// What the server of a test answers.
struct ServerAnswer: Sendable {
  let status: Int
  var retryAfter: Int?
  let body: [UInt8]

  init(_ status: Int = 200, _ body: [UInt8] = []) { (self.status, self.body) = (status, body) }

  init(_ problem: Problem) {
    self.init(problem.code.status, problem.document)
    retryAfter = problem.retryAfter
  }
}
