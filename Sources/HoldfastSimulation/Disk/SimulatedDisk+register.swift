internal import CSQLite

extension SimulatedDisk {
  /// Registers the disk with SQLite, which retains it until `unregister`.
  ///
  /// - Parameters:
  ///   - isDefault: whether connections without a named file system use it. It then also seeds SQLite's random generator.
  ///   - name: the name for `sqlite3_open_v2`.
  func register(isDefault: Bool, name: String = "simulation") {
    precondition(registration == nil, "This disk is registered already.")
    let record = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    record.initialize(to: sqlite3_vfs())
    record.pointee.iVersion = 2
    record.pointee.szOsFile = Int32(MemoryLayout<FileSlot>.size)
    record.pointee.mxPathname = 512
    record.pointee.zName = copy(name)
    record.pointee.pAppData = Unmanaged.passRetained(self).toOpaque()
    record.pointee.xOpen = diskOpen
    record.pointee.xDelete = diskDelete
    record.pointee.xAccess = diskAccess
    record.pointee.xFullPathname = diskFullPathname
    record.pointee.xRandomness = diskRandomness
    record.pointee.xSleep = diskSleep
    record.pointee.xCurrentTime = diskCurrentTime
    record.pointee.xCurrentTimeInt64 = diskCurrentTimeInt64
    record.pointee.xGetLastError = { record, _, _ in disk(record).lastError }
    let result = sqlite3_vfs_register(record, isDefault ? 1 : 0)
    precondition(result == SQLITE_OK, "SQLite does not take the simulated disk: \(result).")
    registration = record
  }

  /// Unregisters the disk. Every connection that uses it must be closed.
  func unregister() {
    guard let record = registration else { return }
    registration = nil
    sqlite3_vfs_unregister(record)
    record.pointee.zName.deallocate()
    record.deallocate()
    Unmanaged.passUnretained(self).release()
  }

  private func copy(_ text: String) -> UnsafePointer<CChar> {
    let bytes = text.utf8CString
    let copy = UnsafeMutableBufferPointer<CChar>.allocate(capacity: bytes.count)
    _ = copy.initialize(from: bytes)
    guard let start = copy.baseAddress else { preconditionFailure("A C string has at least its end.") }
    return UnsafePointer(start)
  }
}

// MARK: - Callbacks of SQLite. Source: <https://www.sqlite.org/c3ref/vfs.html>

private typealias Record = UnsafeMutablePointer<sqlite3_vfs>

private func disk(_ record: Record?) -> SimulatedDisk {
  guard let data = record?.pointee.pAppData else { preconditionFailure("SQLite lost the simulated disk.") }
  return Unmanaged<SimulatedDisk>.fromOpaque(data).takeUnretainedValue()
}

private func diskOpen(
  _ record: Record?, _ name: UnsafePointer<CChar>?, _ slot: UnsafeMutablePointer<sqlite3_file>?,
  _ flags: Int32, _ outFlags: UnsafeMutablePointer<Int32>?
) -> Int32 {
  // SQLite closes a file that failed to open only if its methods are set.
  slot?.pointee.pMethods = nil
  let disk = disk(record)
  guard let process = disk.running, disk.isAlive(process) else { return SQLITE_CANTOPEN }
  let path = name.map { String(cString: $0) } ?? ""
  guard name == nil || SimulatedDisk.machine(of: path) == process.machine else { return SQLITE_CANTOPEN }
  let known = disk.file(at: path)
  let forbidden = known == nil ? flags & SQLITE_OPEN_CREATE == 0 : flags & SQLITE_OPEN_EXCLUSIVE != 0
  if let refusal = disk.refusal(of: known == nil ? .create : .open, path: path, size: 0, for: process) {
    return refusal
  }
  guard !forbidden else { return SQLITE_CANTOPEN }
  let file =
    name == nil ? SimulatedFile(isTemporary: true) : known ?? disk.makeFile(at: path, on: process.machine)
  let deletesOnClose = name != nil && flags & SQLITE_OPEN_DELETEONCLOSE != 0
  let handle = OpenFile(file, path: path, process: process, disk: disk, deletesOnClose: deletesOnClose)
  disk.adopt(handle)
  FileSlot.fill(slot, with: handle)
  outFlags?.pointee = flags
  return SQLITE_OK
}

private func diskDelete(_ record: Record?, _ name: UnsafePointer<CChar>?, _ syncsFolder: Int32) -> Int32 {
  let disk = disk(record)
  guard let name, let process = disk.running, disk.isAlive(process) else { return SQLITE_IOERR }
  let path = String(cString: name)
  if let refusal = disk.refusal(of: .delete, path: path, size: 0, for: process) { return refusal }
  // SQLITE_IOERR_DELETE_NOENT.
  guard disk.file(at: path) != nil else { return SQLITE_IOERR | 23 << 8 }
  disk.unlink(path, durably: syncsFolder != 0)
  return SQLITE_OK
}

private func diskAccess(
  _ record: Record?, _ name: UnsafePointer<CChar>?, _ flags: Int32, _ answer: UnsafeMutablePointer<Int32>?
) -> Int32 {
  let disk = disk(record)
  guard let name, let process = disk.running, disk.isAlive(process) else { return SQLITE_IOERR }
  let path = String(cString: name)
  if let refusal = disk.refusal(of: .exists, path: path, size: 0, for: process) { return refusal }
  let file = disk.file(at: path)
  // As in SQLite's default file system, an empty file does not count as existing.
  answer?.pointee = file.map { flags != SQLITE_ACCESS_EXISTS || $0.content.count > 0 } ?? false ? 1 : 0
  return SQLITE_OK
}

private func diskFullPathname(
  _ record: Record?, _ name: UnsafePointer<CChar>?, _ capacity: Int32, _ out: UnsafeMutablePointer<CChar>?
) -> Int32 {
  guard let name, let out else { return SQLITE_CANTOPEN }
  var index = 0
  while index < Int(capacity) {
    out[index] = name[index]
    if name[index] == 0 { return SQLITE_OK }
    index += 1
  }
  return SQLITE_CANTOPEN
}

private func diskRandomness(_ record: Record?, _ count: Int32, _ out: UnsafeMutablePointer<CChar>?) -> Int32 {
  let disk = disk(record)
  for index in 0..<Int(count) { out?[index] = CChar(truncatingIfNeeded: disk.random()) }
  return count
}

/// No time passes during a call, so a lock that is waited for does not change.
private func diskSleep(_ record: Record?, _ microseconds: Int32) -> Int32 { microseconds }

private func diskCurrentTimeInt64(_ record: Record?, _ out: UnsafeMutablePointer<sqlite3_int64>?) -> Int32 {
  let disk = disk(record)
  // SQLite counts milliseconds from noon of 24 November 4714 BC.
  out?.pointee = disk.now(disk.running) + 210_866_760_000_000
  return SQLITE_OK
}

private func diskCurrentTime(_ record: Record?, _ out: UnsafeMutablePointer<Double>?) -> Int32 {
  var milliseconds: sqlite3_int64 = 0
  let result = diskCurrentTimeInt64(record, &milliseconds)
  out?.pointee = Double(milliseconds) / 86_400_000
  return result
}
