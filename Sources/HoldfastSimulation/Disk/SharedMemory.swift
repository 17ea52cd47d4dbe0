internal import CSQLite

/// The WAL index of a database: memory shared by the connections of all its processes, and its eight locks.
///
/// A handle of a killed process keeps it alive until the handle is closed, because SQLite still has pointers into it.
final class SharedMemory {
  private var regions: [UnsafeMutableRawPointer] = []
  /// The handles of living processes that map it.
  var users: [OpenFile] = []

  /// The number of regions.
  var count: Int { regions.count }

  deinit { for region in regions { region.deallocate() } }

  /// The stable address of a region; nil if it is absent and must not be created.
  func region(_ index: Int, size: Int, extend: Bool) -> UnsafeMutableRawPointer? {
    if index >= regions.count && !extend { return nil }
    while index >= regions.count {
      let region = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
      region.initializeMemory(as: UInt8.self, repeating: 0, count: size)
      regions.append(region)
    }
    return regions[index]
  }

  /// Takes all requested locks for a handle, or none.
  func lock(_ slots: UInt8, exclusive: Bool, for handle: OpenFile) -> Bool {
    for user in users where user !== handle {
      if user.exclusiveSlots & slots != 0 || exclusive && user.sharedSlots & slots != 0 { return false }
    }
    if exclusive { handle.exclusiveSlots |= slots } else { handle.sharedSlots |= slots }
    return true
  }

  /// Releases locks of a handle.
  func unlock(_ slots: UInt8, for handle: OpenFile) {
    handle.exclusiveSlots &= ~slots
    handle.sharedSlots &= ~slots
  }
}
