package import HoldfastCore

/// The members of zones: the stored ones, overlaid with the transaction's changes.
package final class MemberList {
  private unowned let transaction: Transaction
  private var columns: MemberColumns { transaction.members }

  /// The stored pending memberships of users, each read once.
  private var invitations: TextMap<[(id: String, inviter: String)]> = [:]

  init(_ transaction: Transaction) { self.transaction = transaction }

  /// Resets the list for a new transaction.
  func begin() { invitations = [:] }

  /// The role of a zone's own member. Nil for other users, for members of its groups, and while the membership is pending.
  package func ownRole(of user: String, in zone: String) throws -> Role? {
    let ids = transaction.working.ids(
      .unique(table: columns.table, group: columns.userGroup), IndexValue(zone: zone, values: [.text(user)]))
    for id in ids {
      guard let values = transaction.working.changed(key(id))?.values else { continue }
      if values[columns.inviter] != .null { return nil }
      return values[columns.role].text.flatMap(Role.init)
    }
    if transaction.zones.isMade(zone) { return nil }
    guard let stored = try transaction.store.zones.ownMember(user, of: zone), !isChanged(stored.id) else {
      return nil
    }
    return stored.role
  }

  /// The accepted own members of a zone, and its groups.
  func members(of zone: String) throws -> [Member] { try all(of: zone).filter { !$0.isPending } }

  /// The own members of a zone, pending ones too, and its groups.
  func all(of zone: String) throws -> [Member] {
    try all(changed(in: zone), of: zone) { try transaction.store.zones.members(of: zone) }
  }

  /// The groups of a zone.
  func groups(of zone: String) throws -> [Member] {
    let changed = changed(.filled(table: columns.table, column: columns.group), in: zone)
    return try all(changed, of: zone) { try transaction.store.zones.groups(of: zone) }.filter {
      $0.group != nil
    }
  }

  private func all(
    _ changed: [(id: String, values: [Value])], of zone: String, _ stored: () throws -> [Member]
  ) throws -> [Member] {
    let new = changed.compactMap { id, values in
      Member(
        id: id, user: values[columns.user].text, group: values[columns.group].text,
        role: values[columns.role].text, isPending: values[columns.inviter] != .null)
    }
    if transaction.zones.isMade(zone) { return new }
    return try new + stored().filter { !isChanged($0.id) }
  }

  /// The number of own members and groups of a zone, including pending ones.
  func count(of zone: String) throws -> Int {
    let stored = try transaction.zones.isMade(zone) ? 0 : transaction.store.zones.memberCount(of: zone)
    return stored + transaction.working.memberGrowth(of: zone)
  }

  /// Whether a zone has an own owner. Owners by a group do not count, because the group may lose them.
  func hasOwner(_ zone: String) throws -> Bool {
    let isOwned = changed(in: zone).contains { _, values in
      values[columns.role] == .text(Role.owner.rawValue) && values[columns.user] != .null
        && values[columns.inviter] == .null
    }
    if isOwned { return true }
    return try transaction.store.zones.owners(of: zone).contains { !isChanged($0) }
  }

  /// The ids of the users with a pending invitation to a user, once per invitation.
  func inviters(of user: String) throws -> [String] {
    let stored = try invitations[user] ?? transaction.store.consents.inviters(of: user)
    invitations[user] = stored
    var inviters = stored.filter { !isChanged($0.id) }.map(\.inviter)
    let changed = transaction.working.ids(
      .reference(table: columns.table, column: columns.user), IndexValue(zone: "", values: [.text(user)]))
    for id in changed {
      if let inviter = transaction.working.changed(key(id))?.values?[columns.inviter].text {
        inviters.append(inviter)
      }
    }
    return inviters
  }

  /// The changed `members` records of a zone, in the order of their ids.
  private func changed(in zone: String) -> [(id: String, values: [Value])] {
    changed(.zone(table: columns.table), in: zone)
  }

  private func changed(_ lookup: ChangedIndex.Lookup, in zone: String) -> [(id: String, values: [Value])] {
    transaction.working.ids(lookup, IndexValue(zone: zone, values: [])).compactMap { id in
      transaction.working.changed(key(id))?.values.map { (id, $0) }
    }
  }

  private func key(_ id: String) -> Footprint.Key { Footprint.Key(table: columns.table, id: id) }

  private func isChanged(_ id: String) -> Bool { transaction.working.isChanged(key(id)) }
}

/// The indexes of the built-in table `members`, and of its columns.
package struct MemberColumns {
  package let table: Int
  package let user: Int
  package let name: Int
  package let role: Int
  package let group: Int
  package let inviter: Int
  /// The number of the unique group of `user`.
  let userGroup: Int

  package init(_ schema: SyncSchema) {
    func column(_ name: String) -> Int {
      guard let index = TableSchema.members.index(of: name) else {
        preconditionFailure("Every schema has the built-in tables.")
      }
      return index
    }
    table = schema.index(of: TableSchema.members.name) ?? 0
    (user, name, role) = (column("user"), column("name"), column("role"))
    (group, inviter) = (column("group"), column(TableSchema.inviterColumn))
    userGroup = TableSchema.members.unique.firstIndex(of: ["user"]) ?? 0
  }
}
