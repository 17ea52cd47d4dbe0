package import HoldfastCore

/// What a user is told of invitations, memberships, groups and blocks: docs/SHARING.md, sections 2 to 4.
package struct SharingAnswers {
  package let store: any StoreReader
  package let schema: SyncSchema

  package init(_ store: any StoreReader, _ schema: SyncSchema) { (self.store, self.schema) = (store, schema) }

  /// The invitations to a zone that have not expired, without their tokens, for an owner of it.
  ///
  /// - Throws: `Problem`: `notFound` or `roleInsufficient`.
  package func invitations(to zone: String, for user: String, at now: Int64) throws -> JSONValue {
    guard let role = Role(rawValue: try store.readable(zone, by: user).role) else { throw Problem(.notFound) }
    if role < .owner { throw Problem(.roleInsufficient, "Invitations take the role owner.") }
    let known = try store.invitations(to: zone).filter { $0.isGood(at: now) }
    return Self.list("invitations", known.map { $0.json(token: nil) })
  }

  /// What the invitation of a token would give.
  ///
  /// - Throws: `Problem`: `invitationInvalid`; `zoneMoved`, where the link is good in the other database.
  package func look(at token: TokenHash, at now: Int64) throws -> JSONValue {
    try store.transaction {
      guard let invitation = try store.invitation(token), invitation.isGood(at: now) else {
        throw Problem(.invitationInvalid)
      }
      if let database = try store.places(of: [invitation.zone])[invitation.zone]?.leftFor {
        throw Problem(moved: invitation.zone, to: database)
      }
      guard
        try store.zone(invitation.zone, for: invitation.inviter)?.role == Role.owner.rawValue,
        let inviter = try store.account(id: invitation.inviter)?.name,
        let title = try title(of: invitation.zone)
      else { throw Problem(.invitationInvalid) }
      return JSONValue.object([
        .init("role", .string(invitation.role.rawValue)),
        .init("expires_at", .string(Timestamp.text(milliseconds: invitation.expiresAt))),
        .init("title", title), .init("invited_by", .string(inviter)),
      ])
    }
  }

  /// The memberships that wait for a user's word.
  package func memberships(of user: String) throws -> JSONValue {
    let found = try store.transaction {
      try store.pendingMemberships(of: user).compactMap { pending -> JSONValue? in
        // One whose zone has ended is not good any more.
        guard let title = try title(of: pending.zone) else { return nil }
        return [
          "id": .string(pending.id), "zone": .string(pending.zone), "role": .string(pending.role),
          "title": title,
          "invited_by": ["id": .string(pending.inviter), "name": .string(pending.inviterName)],
        ]
      }
    }
    return Self.list("memberships", found)
  }

  /// The zones that name a group, for an owner of it.
  ///
  /// - Throws: `Problem`: `notFound` or `roleInsufficient`.
  package func grants(of group: String, for user: String) throws -> JSONValue {
    guard let role = try store.ownRole(of: user, in: group) else { throw Problem(.notFound) }
    if role < .owner { throw Problem(.roleInsufficient, "The grants of a group are shown to its owners.") }
    return Self.list(
      "grants",
      try store.grants(of: group).map { grant in
        ["id": .string(grant.id), "zone": .string(grant.zone), "role": .string(grant.role)]
      })
  }

  /// The users whom a user has blocked.
  package func blocks(of user: String) throws -> JSONValue {
    Self.list(
      "blocks",
      try store.blocks(of: user).map { ["id": .string($0.id), "name": .string($0.name)] })
  }

  /// The first text of a zone's root record, null where it has none; nil when the zone has ended. That of a user's own zone is null.
  private func title(of zone: String) throws -> JSONValue? {
    for (index, table) in schema.tables.enumerated() where table.zone == .root {
      guard case .live(let record, _)? = try store.records([zone], of: index, for: nil)[zone] else {
        continue
      }
      let column = table.columns.firstIndex { $0.type == .text }
      return column.flatMap { record.values[$0].text }.map { .string($0) } ?? .null
    }
    return try store.account(id: zone) == nil ? nil : .null
  }

  private static func list(_ name: String, _ items: [JSONValue]) -> JSONValue {
    JSONValue.object([.init(name, .array(items))])
  }
}

extension FoundUser {
  /// The answer to who looked the user up.
  package var json: JSONValue {
    JSONValue.object([
      .init("id", .string(id)), .init("name", .string(name)),
      .init("issuer", issuer.map { .string($0) } ?? .null),
    ])
  }
}

extension Invitation {
  /// The invitation as its makers see it.
  ///
  /// - Parameter token: shown to who has just made it.
  package func json(token: String?) -> JSONValue {
    var members: [JSONValue.Member] = [.init("id", .string(id))]
    if let token { members.append(.init("token", .string(token))) }
    members += [
      .init("role", .string(role.rawValue)),
      .init("expires_at", .string(Timestamp.text(milliseconds: expiresAt))),
      .init("uses", .integer(uses)),
    ]
    return .object(members)
  }
}

extension Membership {
  /// The answer to who accepted.
  package var json: JSONValue {
    JSONValue.object([
      .init("id", .string(id)), .init("zone", .string(zone)), .init("user", .string(user)),
      .init("name", .string(name)), .init("role", .string(role.rawValue)),
    ])
  }
}
