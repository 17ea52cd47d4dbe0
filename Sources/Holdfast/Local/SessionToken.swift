/// The token of the session: in the database, or in the app's storage with a mark in its place, by which a sign-out is still one transaction.
struct SessionToken {
  /// Stands in the database for a token that is elsewhere. No server makes such a token.
  static let elsewhere = "(kept elsewhere)"

  let storage: (any TokenStorage)?

  /// Whether the database says that there is one, for this store.
  func isKept(_ stored: String?) -> Bool { stored != nil && (stored != Self.elsewhere || storage != nil) }

  /// The token, by what the database says.
  func read(_ stored: String?, device: String?) throws -> String? {
    guard let stored, let device else { return stored == Self.elsewhere ? nil : stored }
    guard stored == Self.elsewhere else { return stored }
    return try storage?.token(for: device)
  }

  /// Keeps a token while `body` commits what the database says of it, which it gets. Should that fail, the token of before is kept again.
  func keep<T>(_ token: String, device: String, while body: (_ stored: String) throws -> T) throws -> T {
    guard let storage else { return try body(token) }
    let before = try storage.token(for: device)
    try storage.save(token, for: device)
    do { return try body(Self.elsewhere) } catch {
      try? storage.save(before, for: device)
      throw error
    }
  }

  /// Removes the token. One that stays, because the storage can't be written, is not used any more.
  func remove(device: String?) { if let device { try? storage?.save(nil, for: device) } }
}
