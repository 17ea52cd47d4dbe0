package import HoldfastCore

/// Operator queries of the shared database. They also work while servers run. Each row has one text per column.
package protocol StoreAdministration: AnyObject {
  /// Writes operators' changes.
  var store: any StoreWriter { get }

  /// Zone, whether it is public, seq, purge horizon, members, records.
  func zones() throws -> [[String]]

  /// User, name, created, devices.
  func users() throws -> [[String]]

  /// Device, user's name, name, whether it is signed in, operations, last written.
  func devices() throws -> [[String]]

  /// Marks the acks of a device so that the device must resync the zones. Returns the number of zones.
  ///
  /// - Parameter zone: the zone to reset; nil for all.
  func reset(_ device: String, zone: String?) throws -> Int

  /// Token (the id of its device), user's name, scope, last written, whether it is valid.
  func tokens() throws -> [[String]]

  /// The id of a device's user, or nil.
  func user(ofDevice id: String) throws -> String?

  /// At, zone, table, record, column, policy, winner, loser, resolution; newest first.
  func conflicts(limit: Int) throws -> [[String]]

  /// The id of the record of a membership, or nil.
  func membership(of user: String, in zone: String) throws -> String?

  /// Zone, seq at the restore, greatest claimed seq, recovered records, recovered deletions, approximate number of missing changes. Lists
  /// only zones with claims.
  func restoreReport() throws -> [[String]]

  /// The claims that users have made for zones since the restore.
  func zoneClaims() throws -> [ZoneClaim]

  /// Users whose role in `access` differs from the role that members and groups grant.
  func wrongAccess() throws -> [WrongAccess]

  /// The ids of the users who are no owners of their own zones: docs/SHARING.md, section 1.
  func usersWithoutOwnZone() throws -> [String]

  /// What makes the running statement of the connection fail, from any thread.
  func interruption() throws -> @Sendable () -> Void

  /// All other inconsistencies, one line each.
  func doctor() throws -> [Finding]

  /// Findings that may or may not be faults, one line each.
  func doubts() throws -> [Finding]
}

extension SyncSchema {
  /// The doctor's line for a record that references a record of another zone although the reference is inside its zone.
  package func strayFinding(_ link: Link, _ id: String, in zone: String, besides other: String) -> Finding {
    let (table, target) = (tables[link.table], tables[link.target].name)
    return
      Finding(
        .zone,
        "\(table.name) \(id) is in the zone \(zone), and the record of \(target) that its \(table.columns[link.column].name) names in \(other)"
      )
  }
}
