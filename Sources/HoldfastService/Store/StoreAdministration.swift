package import HoldfastCore

/// What operators ask of the shared database, also while servers run on it. Each row has a text for each column.
package protocol StoreAdministration: AnyObject {
  /// For what operators write.
  var store: any StoreWriter { get }

  /// Zone, whether it is public, seq, members, records.
  func zones() throws -> [[String]]

  /// User, name, created, devices.
  func users() throws -> [[String]]

  /// Device, user's name, name, whether it is signed in, operations, last written.
  func devices() throws -> [[String]]

  /// Marks the acks of a device, so that it must begin the zones again; how many.
  ///
  /// - Parameter zone: the only zone concerned; nil for all.
  func reset(_ device: String, zone: String?) throws -> Int

  /// Token (the id of its device), user's name, scope, last written, whether it is valid.
  func tokens() throws -> [[String]]

  /// The id of a device's user, or nil.
  func user(ofDevice id: String) throws -> String?

  /// At, zone, table, record, column, policy, winner, loser; newest first.
  func conflicts(limit: Int) throws -> [[String]]

  /// The id of the record of a membership, or nil.
  func membership(of user: String, in zone: String) throws -> String?

  /// Zone, seq at the restore, greatest seq that a device has claimed since, records and deletions recovered, about how many changes are
  /// missing; of the zones in which anything was claimed.
  func restoreReport() throws -> [[String]]

  /// Who has claimed something of zones since the restore.
  func zoneClaims() throws -> [ZoneClaim]

  /// Who may do something else in a zone than its members say.
  func wrongAccess() throws -> [WrongAccess]

  /// All else that contradicts itself, a line for each finding.
  func doctor() throws -> [String]

  /// What may be wrong, and may be as it should; a line for each.
  func doubts() throws -> [String]
}

extension SyncSchema {
  /// What an operator is told of a record that refers inside its zone to a record of another one.
  package func strayFinding(_ link: Link, _ id: String, in zone: String, besides other: String) -> String {
    let (table, target) = (tables[link.table], tables[link.target].name)
    return
      "zone: \(table.name) \(id) is in the zone \(zone), and the record of \(target) that its \(table.columns[link.column].name) names in \(other)"
  }
}
