extension SimulatedFile {
  /// The size of an atomic write in bytes.
  static let sector = 512

  /// The result of a power failure for an unsynced change.
  private enum Outcome {
    case lost, kept
    /// Each sector of a write is kept or lost independently.
    case torn
  }

  /// Restores the synced state, with an arbitrary selection of later changes. The result is the new durable state.
  func losePower(_ random: () -> UInt64) {
    guard !changes.isEmpty else { return }
    let outcomes = chooseOutcomes(random)
    // Changes are undone backwards to the synced state, and saved. Then the surviving ones are redone.
    let undone = RawBuffer()
    var undoneAt = [Int](repeating: 0, count: changes.count)
    for index in changes.indices.reversed() {
      let change = changes[index]
      undoneAt[index] = undone.count
      if let written = change.written { undone.append(content.slice(change.offset, written)) }
      content.resize(to: change.sizeBefore)
      content.put(replaced.slice(change.replacedAt, change.replaced), at: change.offset)
    }
    for (index, change) in changes.enumerated() where outcomes[index] != .lost {
      guard let written = change.written else {
        if content.count > change.offset { content.resize(to: change.offset) }
        continue
      }
      let bytes = undone.slice(undoneAt[index], written)
      if outcomes[index] == .kept {
        content.put(bytes, at: change.offset)
      } else {
        tear(bytes, at: change.offset, random)
      }
    }
    sync()
  }

  /// Independent choices would almost never keep all changes, or all up to one. So the pattern is chosen first.
  private func chooseOutcomes(_ random: () -> UInt64) -> [Outcome] {
    let count = changes.count
    switch random() % 4 {
    case 0: return [Outcome](repeating: .lost, count: count)
    case 1: return [Outcome](repeating: .kept, count: count)
    case 2:
      let first = Int(random() % UInt64(count))
      return changes.indices.map { $0 < first ? .kept : $0 == first ? .torn : .lost }
    default:
      return changes.map { change in
        switch random() % 4 {
        case 0: .lost
        case 1: .kept
        default: change.written == nil ? .kept : .torn
        }
      }
    }
  }

  private func tear(_ bytes: UnsafeRawBufferPointer, at offset: Int, _ random: () -> UInt64) {
    var from = 0
    while from < bytes.count {
      let end = min(bytes.count, ((offset + from) / Self.sector + 1) * Self.sector - offset)
      if random() & 1 == 1 {
        content.put(UnsafeRawBufferPointer(rebasing: bytes[from..<end]), at: offset + from)
      }
      from = end
    }
  }
}
