import HoldfastCore

/// The records that the server does not have, as the change set that was to create them is in quarantine: its number. Records of several tables
/// may have one id.
struct LackingRecords {
  private var sets: TextMap<Int64> = [:]

  /// The set of a record of a table, which is named by its index.
  subscript(table: Int, id: String) -> Int64? {
    get { sets["\(table) \(id)"] }
    set { sets["\(table) \(id)"] = newValue }
  }
}
