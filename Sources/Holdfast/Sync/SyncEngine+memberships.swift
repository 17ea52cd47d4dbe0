import HoldfastCore

/// A membership that somebody has made for this user, who has not accepted it yet.
///
/// ```swift
/// for membership in try await engine.pendingMemberships() {
///   _ = try await engine.accept(membership: membership.id)
/// }
/// ```
public struct PendingMembership: Sendable, Hashable {
  /// The id of its record in `members`.
  public let id: String
  /// The zone that it is of.
  public let zone: String
  /// What this user may do there after accepting.
  public let role: Role
  /// The first text of the zone's root record; nil where it has none.
  public let title: String?
  /// Who made it.
  public let inviter: KnownUser
}

/// A user of the server, as others see one.
///
/// ```swift
/// if let (user, _) = try await engine.user(named: "bob") { try await engine.block(user: user.id) }
/// ```
public struct KnownUser: Sendable, Hashable {
  /// The id, which never changes.
  public let id: String
  /// The name of the account.
  public let name: String
}

/// A zone that names another as its group.
///
/// ```swift
/// for grant in try await engine.grants(ofGroup: team.id) where grant.role == .owner {
///   try await engine.withdraw(grant: grant.id, ofGroup: team.id)
/// }
/// ```
public struct GroupGrant: Sendable, Hashable {
  /// The id of the record in `members` that names the group.
  public let id: String
  /// The zone in which it is.
  public let zone: String
  /// What members of the group may do there.
  public let role: Role
}

/// An invitation to a zone: whoever has its token may become a member.
///
/// ```swift
/// let invitation = try await engine.invite(to: list.id, role: .editor)
/// show("groceries://accept?token=\(invitation.token)")
/// ```
public struct Invitation: Sendable, Hashable {
  /// By which it can be revoked.
  public let id: String
  /// What is passed on. The server shows it this once.
  public let token: String
}

extension SyncEngine {
  /// The user whom sharing with a name reaches, and the identity provider that vouches for them; nil when there is none. Takes a connection.
  ///
  /// - Parameter name: the name of the account.
  /// - Throws: `Problem` when the server refuses; `StoreError.offline`.
  public func user(named name: String) async throws -> (user: KnownUser, issuer: String?)? {
    do {
      let answer = try JSONValue(parsing: await get("v1/users?name=\(name.percentEncoded)"))
      return Self.user(answer).map { ($0, answer["issuer"]?.stringValue) }
    } catch let problem as Problem where problem.code == .notFound { return nil }
  }

  /// The memberships that wait for this user's word, the latest first. Takes a connection.
  ///
  /// - Throws: `Problem` when the server refuses; `StoreError.offline`.
  public func pendingMemberships() async throws -> [PendingMembership] {
    try await list("v1/memberships", "memberships") { item in
      guard let id = item["id"]?.stringValue, let zone = item["zone"]?.stringValue,
        let role = item["role"]?.stringValue.flatMap(Role.init), let inviter = Self.user(item["invited_by"])
      else { return nil }
      return PendingMembership(
        id: id, zone: zone, role: role, title: item["title"]?.stringValue, inviter: inviter)
    }
  }

  /// Accepts a membership: its zone comes with the next sync. Takes a connection.
  ///
  /// - Parameter id: that of `PendingMembership`. One that was accepted before is no error.
  /// - Returns: the zone.
  /// - Throws: `Problem` when the server refuses, with the code `notFound` for one that was rolled back; `StoreError.offline`.
  public func accept(membership id: String) async throws -> String {
    let answer = try JSONValue(parsing: await ask("POST", "v1/memberships/\(id.percentEncoded)/accept", [:]))
    await handle(.syncNow)
    guard let zone = answer["zone"]?.stringValue else { throw Problem(.internalError) }
    return zone
  }

  /// Declines a membership that waits, which removes it. Takes a connection.
  ///
  /// - Throws: `Problem` when the server refuses, with the code `notFound` for one that does not wait; `StoreError.offline`.
  public func decline(membership id: String) async throws {
    _ = try await ask("DELETE", "v1/memberships/\(id.percentEncoded)", [:])
  }

  /// Leaves a zone, also one that a group gives. Its records leave this device with the next sync. Takes a connection.
  ///
  /// - Throws: `Problem` when the server refuses, with the code `lastOwner` for the only owner and in the own zone; `StoreError.offline`.
  public func leave(zone: String) async throws {
    _ = try await ask("DELETE", "v1/zones/\(zone.percentEncoded)/membership", [:])
    await handle(.syncNow)
  }

  /// Blocks a user: what they share with this one from now on is not shown here, and gives nothing. Takes a connection.
  ///
  /// - Parameter user: the id.
  /// - Throws: `Problem` when the server refuses; `StoreError.offline`.
  public func block(user: String) async throws {
    _ = try await ask("PUT", "v1/blocks/\(user.percentEncoded)", [:])
  }

  /// Ends the blocking of a user. Takes a connection.
  ///
  /// - Parameter user: the id.
  /// - Throws: `Problem` when the server refuses; `StoreError.offline`.
  public func unblock(user: String) async throws {
    _ = try await ask("DELETE", "v1/blocks/\(user.percentEncoded)", [:])
  }

  /// The users whom this one has blocked, by their names. Takes a connection.
  ///
  /// - Throws: `Problem` when the server refuses; `StoreError.offline`.
  public func blockedUsers() async throws -> [KnownUser] {
    try await list("v1/blocks", "blocks") { Self.user($0) }
  }

  /// The zones that name a zone of this user as their group, the latest first. Takes a connection.
  ///
  /// - Throws: `Problem` when the server refuses, with the code `roleInsufficient` for who is no owner of it; `StoreError.offline`.
  public func grants(ofGroup zone: String) async throws -> [GroupGrant] {
    try await list("v1/zones/\(zone.percentEncoded)/grants", "grants") { item in
      guard let id = item["id"]?.stringValue, let zone = item["zone"]?.stringValue,
        let role = item["role"]?.stringValue.flatMap(Role.init)
      else { return nil }
      return GroupGrant(id: id, zone: zone, role: role)
    }
  }

  /// Takes a group back from a zone that names it. Takes a connection.
  ///
  /// - Parameters:
  ///   - grant: the id of `GroupGrant`.
  ///   - zone: the group.
  /// - Throws: `Problem` when the server refuses; `StoreError.offline`.
  public func withdraw(grant: String, ofGroup zone: String) async throws {
    _ = try await ask("DELETE", "v1/zones/\(zone.percentEncoded)/grants/\(grant.percentEncoded)", [:])
    await handle(.syncNow)
  }

  /// Makes an invitation to a zone of which this user is an owner. Takes a connection.
  ///
  /// - Parameters:
  ///   - zone: the zone.
  ///   - role: what who accepts it may do.
  ///   - lifetime: for how long it is good: 1 second to 30 days.
  ///   - uses: how many people may accept it: 1 to 1,000.
  /// - Throws: `Problem` when the server refuses; `StoreError.offline`.
  public func invite(
    to zone: String, role: Role, lifetime: Duration = .seconds(7 * 86_400), uses: Int = 1
  ) async throws -> Invitation {
    let answer = try await post(
      "v1/zones/\(zone.percentEncoded)/invitations",
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

  private static func user(_ value: JSONValue?) -> KnownUser? {
    guard let id = value?["id"]?.stringValue, let name = value?["name"]?.stringValue else { return nil }
    return KnownUser(id: id, name: name)
  }

  func list<Item>(_ path: String, _ member: String, _ read: (JSONValue) -> Item?) async throws
    -> [Item]
  {
    try JSONValue(parsing: await get(path))[member]?.elements?.compactMap(read) ?? []
  }
}
