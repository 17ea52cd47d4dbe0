import HoldfastCore
import HoldfastSQLite

/// The address of this installation at a push service, by which a team's push program wakes it: docs/PUSH.md.
///
/// ```swift
/// try await engine.setPushToken(PushToken(kind: "apns", token: deviceToken.base64EncodedString()))
/// ```
public struct PushToken: Sendable, Hashable {
  /// The push service, such as `apns`, `fcm` or `webpush`: 1 to 32 of a-z, 0-9, `.`, `_` and `-`.
  public let kind: String
  /// The token in the form that the push program expects: 1 to 4,096 bytes of UTF-8, without U+0000.
  public let token: String

  /// Creates a token.
  public init(kind: String, token: String) { (self.kind, self.token) = (kind, token) }

  /// Whether a server takes it.
  var isValid: Bool {
    (1...32).contains(kind.utf8.count) && (1...4096).contains(token.utf8.count) && !token.utf8.contains(0)
      && kind.utf8.allSatisfy { "abcdefghijklmnopqrstuvwxyz0123456789._-".utf8.contains($0) }
  }
}

/// The push token in the database. A row without a token is a removal that the server does not know yet.
struct StoredPushToken {
  let database: LocalDatabase

  private var connection: SQLiteConnection { database.connection }

  /// Reads it; nil if there is nothing for the server.
  func read() throws -> PushToken?? {
    guard let row = try connection.row("SELECT kind, token FROM holdfast_push_token", []) else { return nil }
    return .some(row[1].text.map { PushToken(kind: row[0].text ?? "", token: $0) })
  }

  /// Sets or removes it.
  ///
  /// - Returns: whether it changed.
  /// - Throws: `StoreError.valueUnfit`.
  func set(_ token: PushToken?) throws -> Bool {
    if token?.isValid == false {
      throw StoreError(
        .valueUnfit,
        "A push token has a kind of 1 to 32 of a-z, 0-9, \".\", \"_\" and \"-\", and 1 to 4,096 bytes without U+0000."
      )
    }
    return try database.transaction(.immediate) {
      let old = try read()
      if old == .some(token) || old == nil && token == nil { return false }
      try connection.run(
        "INSERT OR REPLACE INTO holdfast_push_token (one, kind, token) VALUES (1, ?, ?)",
        [.text(token?.kind ?? ""), token.map { .text($0.token) } ?? .null])
      return true
    }
  }

  /// Forgets a removal that the server knows.
  func forgetRemoval() throws {
    try connection.run("DELETE FROM holdfast_push_token WHERE token IS NULL", [])
  }
}
