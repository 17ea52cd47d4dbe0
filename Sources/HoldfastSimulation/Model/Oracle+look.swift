import HoldfastCore

/// What must hold of the records in every database, whenever somebody looks.
extension Oracle {
  /// Looks at a device's records, or at the server's.
  func look(_ tables: Tables, at place: String, isServer: Bool = false) {
    expectReferences(tables, at: place, isServer: isServer)
    expectPairs(tables, at: place)
  }

  /// I9: what a record refers to is there.
  private func expectReferences(_ tables: Tables, at place: String, isServer: Bool) {
    var orphans: [String] = []
    for (key, row) in tables {
      for reference in referencesOfTable[key.table] ?? [] where isServer || reference.isInZone {
        guard let id = row[reference.column]?.string else { continue }
        let target = RecordKey(table: reference.target, id: id)
        guard let parent = tables[target] else {
          orphans.append("\(place): \(key).\(reference.column) names \(target), which is not there")
          continue
        }
        // A device learns the new zone of what moved from the server.
        if isServer, reference.isInZone, parent.zone != row.zone {
          orphans.append(
            "\(place): \(key).\(reference.column) names \(target) of zone \(parent.zone ?? "none") from zone \(row.zone ?? "none")"
          )
        }
      }
    }
    report("I9", orphans)
  }

  /// I6: groups that are written together are seen together.
  private func expectPairs(_ tables: Tables, at place: String) {
    if rules.pairs.isEmpty { return }
    var groups: TextMap<(size: Int64, keys: [RecordKey])> = [:]
    for (key, row) in tables where rules.pairs.contains(key.table) {
      guard let pair = row["pair"]?.string, let size = row["size"]?.number else { continue }
      groups[pair, default: (size, [])].keys.append(key)
    }
    var torn: [String] = []
    for (pair, group) in groups where Int64(group.keys.count) != group.size {
      let keys = group.keys.sorted().map(\.description).joined(separator: ", ")
      torn.append("\(place): group \(pair) has \(group.keys.count) of \(group.size) records: \(keys)")
    }
    report("I6", torn)
  }
}
