package import HoldfastCore

extension SyncSchema {
  /// The indexes of the tables so that each comes behind those that it refers to, as far as that is possible.
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
