import HoldfastCore

/// Checks that all references hold when a change set is complete (I9).
struct ReferenceRules: ChangeSetPart {
  let run: ChangeSetRun

  /// Checks the new references of a record that was just written. References that do not hold are checked again at the end of the set.
  func checkReferences(of record: StoredRecord, over old: StoredRecord?) throws {
    for link in schema.links(of: record.table) {
      if let old, old.values[link.column] == record.values[link.column] { continue }
      if try holds(link, of: record) { continue }
      run.openReferences.append(OpenReference(operation: run.current, link: link, id: record.id))
    }
  }

  /// Checks the open references after all operations.
  func checkOpenReferences() throws {
    try checkInbound()
    for reference in run.openReferences where !reference.isInbound {
      if let record = try stores.tables[reference.link.table].record(reference.id),
        try !holds(reference.link, of: record)
      {
        throw run.blame(reference.operation, Problem(.referenceMissing, name(of: reference.link)))
      }
    }
  }

  /// Whether a reference is null, or names a live record that it may reference.
  private func holds(_ link: SyncSchema.Link, of record: StoredRecord) throws -> Bool {
    guard let id = record.values[link.column].text else { return true }
    guard let zone = try stores.tables[link.target].zone(of: id) else { return false }
    if link.isInZone { return zone == record.zone }
    return try ledger.role(of: author.user, in: zone) != nil
  }

  /// The number of records per look-up.
  private static let together = 1000

  /// Checks the references to deleted and moved records. No record may reference a deleted one. Only records of the new zone may reference
  /// a moved one.
  private func checkInbound() throws {
    var links: [(link: SyncSchema.Link, operations: TextMap<Int>)] = []
    for reference in run.openReferences where reference.isInbound {
      let known = links.firstIndex {
        $0.link.table == reference.link.table && $0.link.column == reference.link.column
      }
      if known == nil { links.append((reference.link, [:])) }
      let place = known ?? links.count - 1
      if links[place].operations[reference.id] == nil {
        links[place].operations[reference.id] = reference.operation
      }
    }
    for (link, operations) in links {
      let store = stores.tables[link.table]
      // One reference to a deleted record is already an error. For moved records, this is the maximum number of children that can have
      // moved along.
      let limit =
        run.isErasing || author.device == 0
        ? .max : stores.workLimit / ChangeSetWork.follower + run.operations.count + 2
      let children = try store.references(by: link.column, to: operations.keys.sorted(), limit: limit)
      for (index, (id, parent)) in children.enumerated() {
        if index % Self.together == 0 {
          try store.prefetch(children[index...].prefix(Self.together).map(\.id))
        }
        let zone = try stores.tables[link.target].zone(of: parent)
        let childZone = try store.zone(of: id)
        if zone == nil || link.isInZone && childZone != zone {
          throw run.blame(operations[parent] ?? run.current, Problem(.referenceRestricted, name(of: link)))
        }
      }
    }
  }

  private func name(of link: SyncSchema.Link) -> String {
    "\(schema.tables[link.table].name).\(schema.tables[link.table].columns[link.column].name)"
  }
}
