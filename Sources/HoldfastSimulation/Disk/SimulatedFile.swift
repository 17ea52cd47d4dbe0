/// A file as the operating system of its machine sees it, and what it takes to know what the disk holds.
final class SimulatedFile {
  /// A change since the last sync, and where the bytes are that it replaced.
  struct Change {
    let offset: Int
    /// Bytes written; nil for a truncation to `offset`.
    let written: Int?
    let sizeBefore: Int
    let replacedAt: Int
    let replaced: Int
  }

  let content = RawBuffer()
  /// Oldest first; a sync drops them.
  private(set) var changes: [Change] = []
  let replaced = RawBuffer(capacity: 64)

  /// Whether the name is on the disk too. Only then does the file outlast a loss of power for certain.
  var nameIsDurable = false
  /// The open handles of living processes.
  var handles: [OpenFile] = []
  /// The WAL index, while a living process maps it.
  var sharedMemory: SharedMemory?

  /// Nil-named temporary files go with their handle, so nobody asks what the disk holds of them.
  private let isTemporary: Bool

  init(isTemporary: Bool = false) { self.isTemporary = isTemporary }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
    let replacedCount = max(0, min(content.count, offset + bytes.count) - offset)
    note(written: bytes.count, at: offset, replacing: replacedCount)
    content.put(bytes, at: offset)
  }

  /// Cuts the file; does nothing when it is not longer.
  func truncate(to size: Int) {
    guard size < content.count else { return }
    note(written: nil, at: size, replacing: content.count - size)
    content.resize(to: size)
  }

  /// Whether the size is another than at the last sync.
  var sizeChanged: Bool { changes.first.map { $0.sizeBefore != content.count } ?? false }

  /// From here on, what is written now outlasts a loss of power.
  func sync() {
    changes.removeAll(keepingCapacity: changes.capacity <= 4096)
    replaced.removeAll()
  }

  private func note(written: Int?, at offset: Int, replacing count: Int) {
    guard !isTemporary else { return }
    changes.append(
      Change(
        offset: offset, written: written, sizeBefore: content.count, replacedAt: replaced.count,
        replaced: count))
    if count > 0 { replaced.append(content.slice(offset, count)) }
  }
}
