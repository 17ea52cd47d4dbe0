import HoldfastCore
import HoldfastSQLite

/// What a copy of a device does before it sends its outbox again: docs/FORGETTING.md, section 3.
extension LocalDatabase {
  /// Moves the change sets that create records in zones which have forgotten deletions into quarantine: whether what they create was deleted
  /// meanwhile, nobody can say. The triggers must be at rest.
  ///
  /// - Parameter zones: those that the server wants begun anew.
  /// - Returns: how many.
  func quarantineCreates(in zones: Set<String>) throws -> Int {
    if zones.isEmpty { return 0 }
    var sets: Set<Int64> = []
    let creates = try connection.rows(
      "SELECT DISTINCT change_set, record_table, id FROM holdfast_edits WHERE kind = 'create' AND change_set IS NOT NULL"
    )
    for row in creates {
      guard let set = row[0].integer, let table = schema.index(of: row[1].text ?? ""), let id = row[2].text
      else { continue }
      if try !zones.isDisjoint(with: self.zones(of: id, table)) { sets.insert(set) }
    }
    if sets.isEmpty { return 0 }
    try takeBack(sets.sorted())
    let problem = Problem(.recordForgotten).document
    var lacking = try lackingRecords()
    for first in sets.sorted() {
      guard
        let body = try connection.value(
          "SELECT body FROM holdfast_outbox WHERE first = ?", [.integer(first)])?.blob
      else { continue }
      try quarantine(first: first, body: body, operation: first, problem: problem, &lacking)
      Trace.took(.createForgotten)
    }
    try renumber(from: 1)
    return sets.count
  }

  /// The zones in which a record that was created here is, or was before it was deleted or moved here.
  private func zones(of id: String, _ table: Int) throws -> Set<String> {
    var zones: Set<String> = []
    if let zone = try row(table, id)?.zone { zones.insert(zone) }
    let bases = try connection.rows(
      """
      SELECT base FROM holdfast_edits WHERE record_table = ? AND id = ? AND kind = 'delete' AND column_name = ''
      """, [.text(schema.tables[table].name), .text(id)])
    zones.formUnion(bases.compactMap { $0[0].text })
    return zones
  }
}
