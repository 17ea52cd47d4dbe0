/// A growable byte buffer with amortized cost.
///
/// It uses raw memory: the checks and generic copies of an array cost most of a simulation's time in a debug build.
final class RawBuffer {
  private(set) var start: UnsafeMutableRawPointer
  private(set) var count = 0
  private var capacity: Int

  init(capacity: Int = 4096) {
    self.capacity = max(capacity, 1)
    start = .allocate(byteCount: self.capacity, alignment: 16)
  }

  deinit { start.deallocate() }

  /// Truncates the buffer, or extends it with zeros.
  func resize(to size: Int) {
    if size > count {
      reserve(size)
      (start + count).initializeMemory(as: UInt8.self, repeating: 0, count: size - count)
    }
    count = size
  }

  /// Writes bytes at an offset. The buffer grows if necessary, with zeros in a gap.
  func put(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
    let end = offset + bytes.count
    if offset > count { resize(to: offset) }
    if end > count {
      reserve(end)
      count = end
    }
    guard let source = bytes.baseAddress else { return }
    (start + offset).copyMemory(from: source, byteCount: bytes.count)
  }

  func append(_ bytes: UnsafeRawBufferPointer) { put(bytes, at: count) }

  /// The bytes of a range inside the buffer, valid until the buffer changes.
  func slice(_ offset: Int, _ count: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: start + offset, count: count)
  }

  /// Removes all bytes, and releases a large allocation.
  func removeAll() {
    count = 0
    guard capacity > 1 << 20 else { return }
    start.deallocate()
    capacity = 4096
    start = .allocate(byteCount: capacity, alignment: 16)
  }

  private func reserve(_ size: Int) {
    guard size > capacity else { return }
    capacity = max(size, capacity * 2)
    let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
    larger.copyMemory(from: start, byteCount: count)
    start.deallocate()
    start = larger
  }
}
