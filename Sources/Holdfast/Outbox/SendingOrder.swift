import HoldfastCore

/// The order in which loose edits of other programs are sent, which may be cut into several change sets anywhere.
struct SendingOrder {
  let database: LocalDatabase

  private var schema: SyncSchema { database.schema }

  /// Puts each created record in front of what refers to it, and keeps the order of the others. Of records that refer to each other in a circle, one
  /// stays behind.
  func parentsFirst(_ loose: [LooseRecord]) throws -> [LooseRecord] {
    var creates: [Key: Int] = [:]
    for (index, record) in loose.enumerated() where record.lives.last == .create {
      creates[Key(table: record.table, id: TextKey(record.id))] = index
    }
    if creates.isEmpty || loose.count == 1 { return loose }
    var ordered: [LooseRecord] = []
    ordered.reserveCapacity(loose.count)
    var isBegun = Array(repeating: false, count: loose.count)
    // A chain may be as long as there are records: it is kept here and not on the thread's stack.
    var chain: [(index: Int, needs: [Int])] = []
    func begin(_ index: Int) throws {
      if isBegun[index] { return }
      isBegun[index] = true
      chain.append((index, try needs(of: loose[index], creates)))
    }
    for index in loose.indices {
      try begin(index)
      while let waiting = chain.last {
        if let need = waiting.needs.last {
          chain[chain.count - 1].needs.removeLast()
          try begin(need)
        } else {
          chain.removeLast()
          ordered.append(loose[waiting.index])
        }
      }
    }
    return ordered
  }

  /// The places of the created records that a record refers to, the first one last.
  private func needs(of record: LooseRecord, _ creates: [Key: Int]) throws -> [Int] {
    guard record.deletion == nil, let row = try database.row(record.table, record.id) else { return [] }
    var needs: [Int] = []
    let isCreated = record.lives.last == .create
    for link in schema.links(of: record.table)
    where isCreated || record.updates.contains(where: { $0.column == link.column }) {
      guard case .text(let id) = row.values[link.column],
        let create = creates[Key(table: link.target, id: TextKey(id))]
      else { continue }
      needs.append(create)
    }
    if schema.tables[record.table].zone == .explicit, let zone = row.zone {
      needs += schema.tables.indices.compactMap { creates[Key(table: $0, id: TextKey(zone))] }
    }
    return needs.reversed()
  }

  private struct Key: Hashable {
    let table: Int
    let id: TextKey
  }
}
