package import HoldfastCore

extension SyncSchema {
  /// The table indexes, each after the tables that it references where the references form no cycle.
  package var parentsFirst: [Int] {
    var order: [Int] = []
    var waiting = Array(tables.indices)
    while !waiting.isEmpty {
      let free = waiting.firstIndex { table in
        links(of: table).allSatisfy { $0.target == table || order.contains($0.target) }
      }
      order.append(waiting.remove(at: free ?? 0))
    }
    return order
  }
}
