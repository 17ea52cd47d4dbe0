internal import CSQLite

/// An open file of one SQLite connection.
final class OpenFile {
  let disk: SimulatedDisk
  let file: SimulatedFile
  let path: String
  let process: SimulatedProcess
  private let deletesOnClose: Bool

  /// Whether the process was killed. SQLite continues until it gets an error, and then only closes.
  private(set) var isDead = false
  private(set) var lockLevel = SQLITE_LOCK_NONE
  private var sharedMemory: SharedMemory?
  var exclusiveSlots: UInt8 = 0
  var sharedSlots: UInt8 = 0

  init(
    _ file: SimulatedFile, path: String, process: SimulatedProcess, disk: SimulatedDisk, deletesOnClose: Bool
  ) {
    self.file = file
    self.path = path
    self.process = process
    self.disk = disk
    self.deletesOnClose = deletesOnClose
    file.handles.append(self)
  }

  /// The error that SQLite gets for a step; nil if the step may happen.
  func refusal(of kind: SimulatedDisk.Step.Kind, size: Int = 0) -> Int32? {
    if isDead { return SQLITE_IOERR }
    return disk.refusal(of: kind, path: path, size: size, for: process)
  }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int32 {
    if let refusal = refusal(of: .read, size: buffer.count) { return refusal }
    let count = min(buffer.count, max(0, file.content.count - offset))
    if count > 0 { buffer.copyMemory(from: file.content.slice(offset, count)) }
    guard count < buffer.count else { return SQLITE_OK }
    // SQLite requires zeros beyond the end of the file. The code is SQLITE_IOERR_SHORT_READ.
    UnsafeMutableRawBufferPointer(rebasing: buffer[count...]).initializeMemory(as: UInt8.self, repeating: 0)
    return SQLITE_IOERR | 2 << 8
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Int32 {
    if let refusal = refusal(of: .write, size: bytes.count) {
      if !isDead { file.write(disk.arrivingPart(of: bytes), at: offset) }
      return refusal
    }
    file.write(bytes, at: offset)
    return SQLITE_OK
  }

  func truncate(to size: Int) -> Int32 {
    if let refusal = refusal(of: .truncate, size: size) { return refusal }
    file.truncate(to: size)
    return SQLITE_OK
  }

  func sync() -> Int32 {
    if let refusal = refusal(of: .sync) { return refusal }
    disk.sync(file, path: path)
    return SQLITE_OK
  }

  /// Takes a lock of the rollback journal's protocol. Source: <https://www.sqlite.org/lockingv3.html>.
  func lock(_ level: Int32) -> Int32 {
    if isDead { return SQLITE_IOERR }
    guard level > lockLevel else { return SQLITE_OK }
    if let refusal = refusal(of: .lock) { return refusal }
    let others = file.handles.lazy.filter { $0 !== self }.map(\.lockLevel).max() ?? SQLITE_LOCK_NONE
    switch level {
    case SQLITE_LOCK_SHARED:
      guard others < SQLITE_LOCK_PENDING else { return SQLITE_BUSY }
    case SQLITE_LOCK_RESERVED:
      guard others < SQLITE_LOCK_RESERVED else { return SQLITE_BUSY }
    default:
      guard others < SQLITE_LOCK_RESERVED else { return SQLITE_BUSY }
      guard others < SQLITE_LOCK_SHARED else {
        // New readers are refused, so that the present ones finish.
        lockLevel = SQLITE_LOCK_PENDING
        return SQLITE_BUSY
      }
    }
    lockLevel = level
    return SQLITE_OK
  }

  func unlock(_ level: Int32) { lockLevel = min(lockLevel, level) }

  func mapSharedMemory(
    _ region: Int, size: Int, extend: Bool, _ address: inout UnsafeMutableRawPointer?
  ) -> Int32 {
    let isNew = extend && region >= (sharedMemory ?? file.sharedMemory)?.count ?? 0
    if let refusal = refusal(of: isNew ? .shmExtend : .shmMap, size: size) { return refusal }
    if sharedMemory == nil {
      let memory = file.sharedMemory ?? SharedMemory()
      file.sharedMemory = memory
      sharedMemory = memory
      memory.users.append(self)
    }
    address = sharedMemory?.region(region, size: size, extend: extend)
    return SQLITE_OK
  }

  func lockSharedMemory(_ slots: UInt8, flags: Int32) -> Int32 {
    guard let sharedMemory, !isDead else { return SQLITE_IOERR }
    if flags & SQLITE_SHM_UNLOCK != 0 {
      sharedMemory.unlock(slots, for: self)
      return SQLITE_OK
    }
    if let refusal = refusal(of: .shmLock) { return refusal }
    let isExclusive = flags & SQLITE_SHM_EXCLUSIVE != 0
    return sharedMemory.lock(slots, exclusive: isExclusive, for: self) ? SQLITE_OK : SQLITE_BUSY
  }

  /// Unmaps the shared memory. When its last living user is gone, it is deleted, and the next user rebuilds it from the log.
  func unmapSharedMemory() {
    leaveSharedMemory()
    sharedMemory = nil
  }

  private func leaveSharedMemory() {
    guard let sharedMemory, !isDead else { return }
    sharedMemory.users.removeAll { $0 === self }
    sharedSlots = 0
    exclusiveSlots = 0
    if sharedMemory.users.isEmpty { file.sharedMemory = nil }
  }

  func close() {
    unmapSharedMemory()
    guard !isDead else { return }
    die()
    disk.purge(self)
    if deletesOnClose { disk.unlink(path, durably: false) }
  }

  /// The process is killed: its locks are released immediately. The mapped memory stays until SQLite closes the file.
  func die() {
    leaveSharedMemory()
    isDead = true
    lockLevel = SQLITE_LOCK_NONE
    file.handles.removeAll { $0 === self }
  }
}
