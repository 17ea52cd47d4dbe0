/// A file as the operating system of its machine sees it, with the data to compute its durable state.
final class SimulatedFile {
  /// A change since the last sync, and the position of the replaced bytes.
  struct Change {
    let offset: Int
    /// The number of written bytes; nil for a truncation to `offset`.
    let written: Int?
    let sizeBefore: Int
    let replacedAt: Int
    let replaced: Int
  }

  let content = RawBuffer()
  /// Oldest first; a sync clears them.
  private(set) var changes: [Change] = []
  let replaced = RawBuffer(capacity: 64)

  /// Whether the name is durable. Otherwise a power failure may remove the file.
  var nameIsDurable = false
  /// The open handles of living processes.
  var handles: [OpenFile] = []
  /// The WAL index, while a living process maps it.
  var sharedMemory: SharedMemory?

  /// Unnamed temporary files end with their handle, so their durable state is irrelevant.
  private let isTemporary: Bool

  init(isTemporary: Bool = false) { self.isTemporary = isTemporary }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
    let replacedCount = max(0, min(content.count, offset + bytes.count) - offset)
    note(written: bytes.count, at: offset, replacing: replacedCount)
    content.put(bytes, at: offset)
  }

  /// Truncates the file; does nothing if it is not longer.
  func truncate(to size: Int) {
    guard size < content.count else { return }
    note(written: nil, at: size, replacing: content.count - size)
    content.resize(to: size)
  }

  /// Whether the size differs from that at the last sync.
  var sizeChanged: Bool { changes.first.map { $0.sizeBefore != content.count } ?? false }

  /// Makes the current content durable.
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
