/// The token of the session: in the database, or in the app's storage with a mark in its place, by which a sign-out is still one transaction.
struct SessionToken {
  /// Stands in the database for a token that is elsewhere. No server makes such a token.
  static let elsewhere = "(kept elsewhere)"

  let storage: (any TokenStorage)?

  /// The token, by what the database says.
  func read(_ stored: String?, device: String?) throws -> String? {
    guard let stored, let device else { return stored == Self.elsewhere ? nil : stored }
    guard stored == Self.elsewhere else { return stored }
    return try storage?.token(for: device)
  }

  /// Keeps a token; gives what the database says of it.
  func keep(_ token: String, device: String) throws -> String {
    guard let storage else { return token }
    try storage.save(token, for: device)
    return Self.elsewhere
  }

  /// Removes the token. One that stays, because the storage can't be written, is not used any more.
  func remove(device: String?) { if let device { try? storage?.save(nil, for: device) } }
}
