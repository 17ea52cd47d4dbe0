import HoldfastCore
public import HoldfastService

/// The operators' console: docs/CONSOLE.md.
///
/// ```swift
/// var configuration = Configuration(schema: schema, database: .directory("data"))
/// configuration.console = try ConsoleConfiguration(token: Array(secret.utf8))
/// ```
public struct ConsoleConfiguration: Sendable {
  /// The length of a token in bytes.
  public static let tokenLength = 32...1024
  /// The number of operators with a token of their own.
  public static let operatorLimit = 100

  /// An operator who may act.
  struct Operator: Sendable {
    let name: String
    /// The hash of the token.
    let key: [UInt8]
  }

  /// The hash of the token: the console needs nothing else of it.
  let hash: [UInt8]
  /// Those who may act, not only read.
  let operators: [Operator]

  /// Creates a configuration.
  ///
  /// - Parameters:
  ///   - token: the secret that opens the console for reading, the same on all nodes of a database. Source: `openssl rand -hex 32`.
  ///   - actions: a line for each operator who may also act: a name, a space, and a token of its own. Nil, the default, for nobody.
  /// - Throws: `ServerError.refused` for a token that is too short or too long, that occurs twice, or for a line that is not of this form.
  public init(token: [UInt8], actions: [UInt8]? = nil) throws(ServerError) {
    try Self.check(token, "The console's token")
    hash = SHA256.hash(of: token)
    operators = try actions.map { lines throws(ServerError) in try Self.operators(lines) } ?? []
    if let twice = operators.first(where: { $0.key == hash }) {
      throw ServerError(
        .refused, "\(twice.name) has the token of --console. Make another by `openssl rand -hex 32`.")
    }
  }

  private static func operators(_ bytes: [UInt8]) throws(ServerError) -> [Operator] {
    var found: [Operator] = []
    for (number, line) in bytes.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
      let words = line.split { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
      if words.isEmpty { continue }
      let place = "Line \(number + 1) of the operators' tokens"
      let name = String(decoding: words[0], as: UTF8.self)
      guard words.count == 2, (1...32).contains(name.utf8.count), name.utf8.allSatisfy(isOfName) else {
        throw ServerError(
          .refused, "\(place) must be a name, a space and a token. A name has 1 to 32 of A-Z a-z 0-9 _ -.")
      }
      try check(Array(words[1]), "The token in line \(number + 1)")
      let key = SHA256.hash(of: Array(words[1]))
      if found.contains(where: { $0.key == key || TextKey($0.name) == TextKey(name) }) {
        throw ServerError(.refused, "\(place) repeats a name or a token. Give each operator both.")
      }
      found.append(Operator(name: name, key: key))
    }
    guard (1...operatorLimit).contains(found.count) else {
      throw ServerError(.refused, "The operators' tokens take 1 to \(operatorLimit) lines.")
    }
    return found
  }

  /// A name stands in a cookie.
  private static func isOfName(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
      true
    default: false
    }
  }

  private static func check(_ token: [UInt8], _ what: String) throws(ServerError) {
    guard tokenLength.contains(token.count) else {
      throw ServerError(
        .refused,
        "\(what) must have \(tokenLength.lowerBound) to \(tokenLength.upperBound) bytes. Make one by `openssl rand -hex 32`."
      )
    }
  }
}
