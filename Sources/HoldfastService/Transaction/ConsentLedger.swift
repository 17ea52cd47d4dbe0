import HoldfastCore

/// The consents of users, including the transaction's changes: docs/SHARING.md, sections 2 and 3.
package final class ConsentLedger {
  private unowned let transaction: Transaction
  private var table: any ConsentTable { transaction.store.consents }
  private var zones: ZoneLedger { transaction.zones }
  /// The users who leave or return to zones in this transaction.
  private var changed: [ZoneUser: Bool] = [:]
  private var journal: [(member: ZoneUser, before: Bool?)] = []

  init(_ transaction: Transaction) { self.transaction = transaction }

  /// Resets the ledger for a new transaction.
  func begin() {
    changed.removeAll()
    beginPart()
  }

  func beginPart() { journal.removeAll() }

  func undoPart() {
    for (member, before) in journal.reversed() { changed[member] = before }
    beginPart()
  }

  /// The users who leave or return to zones, for the write before the commit.
  var left: [(member: ZoneUser, hasLeft: Bool)] {
    changed.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// Whether a user has left a zone. Groups no longer grant that user access to it.
  func hasLeft(_ user: String, _ zone: String) throws -> Bool {
    try changed[ZoneUser(zone: zone, user: user)] ?? table.hasLeft(user, zone)
  }

  /// The users who have left a zone.
  func leavers(of zone: String) throws -> TextSet {
    var users = try table.leavers(of: zone)
    for (member, hasLeft) in changed where member.zone == zone {
      if hasLeft { users.insert(member.user) } else { users.remove(member.user) }
    }
    return users
  }

  /// Records that a user leaves a zone, or returns to it.
  func setLeft(_ hasLeft: Bool, _ user: String, _ zone: String) {
    let member = ZoneUser(zone: zone, user: user)
    journal.append((member, changed[member]))
    changed[member] = hasLeft
  }

  /// Whether two users share a zone that is not public.
  func share(_ user: String, _ other: String) throws -> Bool {
    // The database does not contain the transaction's changes yet.
    let touched = zones.changedZones(of: user, other)
    for zone in touched {
      if try zones.memberRole(of: user, in: zone) != nil, try zones.memberRole(of: other, in: zone) != nil,
        try zones.exists(zone), try !zones.isPublic(zone)
      {
        return true
      }
    }
    return try table.share(user, other, besides: touched)
  }

  /// The number of zones of a user. Stops counting stored zones at `limit`.
  func zoneCount(of user: String, upTo limit: Int) throws -> Int {
    let touched = zones.changedZones(of: user)
    return try table.zoneCount(of: user, besides: touched, upTo: limit)
      + touched.count { try zones.memberRole(of: user, in: $0) != nil }
  }

  /// The number of the user's zones that have ended: their root record is deleted.
  func endedZoneCount(of user: String, isLive: (String) throws -> Bool) throws -> Int {
    let roots = transaction.schema.tables.indices.filter { transaction.schema.tables[$0].zone == .root }
    // The database does not contain the transaction's changes yet.
    let touched = TextSet(
      zones.changedZones(of: user)
        + transaction.working.changed.lazy.map(\.key).filter { roots.contains($0.table) }.map(\.id)
    ).sorted()
    return try table.endedZoneCount(of: user, besides: touched)
      + touched.count { zone in
        try zones.memberRole(of: user, in: zone) != nil && !zones.isMade(zone) && zones.exists(zone)
          && !zones.isPublic(zone) && !isLive(zone)
      }
  }
}
