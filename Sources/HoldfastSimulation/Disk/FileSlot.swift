internal import CSQLite

/// The memory that SQLite allocates for an open file: SQLite's own part, and the simulation's.
struct FileSlot {
  private var base: sqlite3_file
  private var handle: Unmanaged<OpenFile>

  static func fill(_ slot: UnsafeMutablePointer<sqlite3_file>?, with handle: OpenFile) {
    guard let slot else { preconditionFailure("SQLite opened a file without memory for it.") }
    UnsafeMutableRawPointer(slot).initializeMemory(
      as: FileSlot.self,
      to: FileSlot(base: sqlite3_file(pMethods: methods), handle: .passRetained(handle)))
  }

  fileprivate static func handle(_ slot: Slot?) -> Unmanaged<OpenFile> {
    guard let slot else { preconditionFailure("SQLite named no file.") }
    return UnsafeRawPointer(slot).assumingMemoryBound(to: FileSlot.self).pointee.handle
  }
}

private typealias Slot = UnsafeMutablePointer<sqlite3_file>

// Written once before the first file is opened, then only read.
nonisolated(unsafe) private let methods: UnsafePointer<sqlite3_io_methods> = {
  let methods = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
  methods.initialize(to: sqlite3_io_methods())
  // Version 2 has shared memory but no memory-mapped files: every read is a step, whatever mmap_size is.
  methods.pointee.iVersion = 2
  methods.pointee.xClose = fileClose
  methods.pointee.xRead = fileRead
  methods.pointee.xWrite = fileWrite
  methods.pointee.xTruncate = fileTruncate
  methods.pointee.xSync = fileSync
  methods.pointee.xFileSize = fileSize
  methods.pointee.xLock = fileLock
  methods.pointee.xUnlock = fileUnlock
  methods.pointee.xCheckReservedLock = fileCheckReservedLock
  methods.pointee.xFileControl = fileControl
  methods.pointee.xSectorSize = fileSectorSize
  methods.pointee.xDeviceCharacteristics = fileCharacteristics
  methods.pointee.xShmMap = fileShmMap
  methods.pointee.xShmLock = fileShmLock
  methods.pointee.xShmBarrier = fileShmBarrier
  methods.pointee.xShmUnmap = fileShmUnmap
  return UnsafePointer(methods)
}()

// MARK: - Callbacks of SQLite. Source: <https://www.sqlite.org/c3ref/io_methods.html>

private func open(_ slot: Slot?) -> OpenFile { FileSlot.handle(slot).takeUnretainedValue() }

private func fileClose(_ slot: Slot?) -> Int32 {
  FileSlot.handle(slot).takeRetainedValue().close()
  slot?.pointee.pMethods = nil
  return SQLITE_OK
}

private func fileRead(_ slot: Slot?, _ buffer: UnsafeMutableRawPointer?, _ count: Int32, _ offset: Int64)
  -> Int32
{
  open(slot).read(into: UnsafeMutableRawBufferPointer(start: buffer, count: Int(count)), at: Int(offset))
}

private func fileWrite(_ slot: Slot?, _ bytes: UnsafeRawPointer?, _ count: Int32, _ offset: Int64) -> Int32 {
  open(slot).write(UnsafeRawBufferPointer(start: bytes, count: Int(count)), at: Int(offset))
}

private func fileTruncate(_ slot: Slot?, _ size: Int64) -> Int32 { open(slot).truncate(to: Int(size)) }

private func fileSync(_ slot: Slot?, _ flags: Int32) -> Int32 { open(slot).sync() }

private func fileSize(_ slot: Slot?, _ size: UnsafeMutablePointer<sqlite3_int64>?) -> Int32 {
  let handle = open(slot)
  size?.pointee = Int64(handle.file.content.count)
  return handle.isDead ? SQLITE_IOERR : SQLITE_OK
}

private func fileLock(_ slot: Slot?, _ level: Int32) -> Int32 { open(slot).lock(level) }

private func fileUnlock(_ slot: Slot?, _ level: Int32) -> Int32 {
  open(slot).unlock(level)
  return SQLITE_OK
}

private func fileCheckReservedLock(_ slot: Slot?, _ answer: UnsafeMutablePointer<Int32>?) -> Int32 {
  let handle = open(slot)
  answer?.pointee = handle.file.handles.contains { $0.lockLevel >= SQLITE_LOCK_RESERVED } ? 1 : 0
  return handle.isDead ? SQLITE_IOERR : SQLITE_OK
}

private func fileControl(_ slot: Slot?, _ operation: Int32, _ argument: UnsafeMutableRawPointer?) -> Int32 {
  SQLITE_NOTFOUND
}

private func fileSectorSize(_ slot: Slot?) -> Int32 { Int32(SimulatedFile.sector) }

/// As SQLite's default file system reports common disks: a torn write never damages bytes beside it.
private func fileCharacteristics(_ slot: Slot?) -> Int32 { SQLITE_IOCAP_POWERSAFE_OVERWRITE }

private func fileShmMap(
  _ slot: Slot?, _ region: Int32, _ size: Int32, _ extend: Int32,
  _ address: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> Int32 {
  var found: UnsafeMutableRawPointer?
  let result = open(slot).mapSharedMemory(Int(region), size: Int(size), extend: extend != 0, &found)
  address?.pointee = found
  return result
}

private func fileShmLock(_ slot: Slot?, _ offset: Int32, _ count: Int32, _ flags: Int32) -> Int32 {
  let slots = UInt8(truncatingIfNeeded: (1 << count) - 1) << UInt8(offset)
  return open(slot).lockSharedMemory(slots, flags: flags)
}

/// Everything runs on one thread, so no barrier is needed.
private func fileShmBarrier(_ slot: Slot?) {}

private func fileShmUnmap(_ slot: Slot?, _ deletes: Int32) -> Int32 {
  open(slot).unmapSharedMemory()
  return SQLITE_OK
}
