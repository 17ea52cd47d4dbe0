import HoldfastCore

/// An invitation to a zone: whoever has its token may become a member.
public struct Invitation: Sendable, Hashable {
  /// By which it can be revoked.
  public let id: String
  /// What is passed on. The server shows it this once.
  public let token: String
}

extension SyncEngine {
  /// Makes an invitation to a zone of which this user is an owner. Takes a connection.
  ///
  /// - Parameters:
  ///   - role: what who accepts it may do.
  ///   - lifetime: for how long it is good: 1 second to 30 days.
  ///   - uses: how many people may accept it: 1 to 1,000.
  /// - Throws: `Problem` when the server refuses; `StoreError.offline`.
  public func invite(
    to zone: String, role: Role, lifetime: Duration = .seconds(7 * 86_400), uses: Int = 1
  ) async throws -> Invitation {
    let answer = try await post(
      "v1/zones/\(zone)/invitations",
      [
        "role": .string(role.rawValue), "expires_in": .integer(lifetime.components.seconds),
        "uses": .integer(Int64(uses)),
      ])
    guard let id = answer["id"]?.stringValue, let token = answer["token"]?.stringValue else {
      throw Problem(.internalError)
    }
    return Invitation(id: id, token: token)
  }

  /// Accepts an invitation: this user becomes a member of its zone, which comes with the next sync. Takes a connection.
  ///
  /// - Parameter token: the invitation's. One that was accepted before gives the zone again.
  /// - Returns: the zone.
  /// - Throws: `Problem` when the server refuses, with the code `invitationInvalid` where it is not good (any more); `StoreError.offline`.
  public func accept(invitation token: String) async throws -> String {
    let answer = try await post("v1/invitations/accept", ["token": .string(token)])
    await handle(.syncNow)
    guard let zone = answer["zone"]?.stringValue else { throw Problem(.internalError) }
    return zone
  }

  private func post(_ path: String, _ body: JSONValue) async throws -> JSONValue {
    try JSONValue(parsing: await ask("POST", path, body))
  }
}
