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

  /// The hash of the token: the console needs nothing else of it.
  let hash: [UInt8]

  /// Creates a configuration.
  ///
  /// - Parameter token: the secret of the operators, the same on all nodes of a database. Source: `openssl rand -hex 32`.
  /// - Throws: `ServerError.refused` for a token that is too short or too long.
  public init(token: [UInt8]) throws(ServerError) {
    guard Self.tokenLength.contains(token.count) else {
      throw ServerError(
        .refused,
        "The console's token must have \(Self.tokenLength.lowerBound) to \(Self.tokenLength.upperBound) bytes. Make one by `openssl rand -hex 32`."
      )
    }
    hash = SHA256.hash(of: token)
  }
}
