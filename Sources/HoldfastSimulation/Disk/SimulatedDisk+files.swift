internal import CSQLite
import HoldfastCore

/// The reason why a plain file could not be written or deleted.
struct SimulatedDiskError: Error, Hashable {
  /// SQLite's code: `SQLITE_FULL`, or one of the `SQLITE_IOERR` family.
  let code: Int32
}

// MARK: - Plain files, on behalf of the running process

extension SimulatedDisk {
  /// Writes a whole file, replacing an older one, and syncs it.
  ///
  /// - Throws: a fault's error, or that the running process is not alive. The file may then be partial or empty.
  func write(_ path: String, _ bytes: [UInt8]) throws(SimulatedDiskError) {
    let known = file(at: path)
    let process = try take(known == nil ? .create : .open, path)
    let file = known ?? makeFile(at: path, on: process.machine)
    file.truncate(to: 0)
    do {
      try take(.write, path, size: bytes.count)
    } catch {
      if isAlive(process) { bytes.withUnsafeBytes { file.write(arrivingPart(of: $0), at: 0) } }
      throw error
    }
    bytes.withUnsafeBytes { file.write($0, at: 0) }
    try take(.sync, path)
    sync(file, path: path)
  }

  /// Writes bytes at the beginning of a file, creating it if missing.
  ///
  /// - Parameter isSynced: whether to sync the file.
  /// - Throws: a fault's error, or that the running process is not alive.
  func writeInPlace(_ path: String, _ bytes: [UInt8], isSynced: Bool) throws(SimulatedDiskError) {
    let known = file(at: path)
    let process = try take(known == nil ? .create : .open, path)
    let file = known ?? makeFile(at: path, on: process.machine)
    do { try take(.write, path, size: bytes.count) } catch {
      if isAlive(process) { bytes.withUnsafeBytes { file.write(arrivingPart(of: $0), at: 0) } }
      throw error
    }
    bytes.withUnsafeBytes { file.write($0, at: 0) }
    guard isSynced else { return }
    try take(.sync, path)
    sync(file, path: path)
  }

  /// Reads a whole file; nil if it does not exist.
  ///
  /// - Throws: a fault's error, or that the running process is not alive.
  func contents(_ path: String) throws(SimulatedDiskError) -> [UInt8]? {
    guard let file = file(at: path) else { return nil }
    try take(.read, path, size: file.content.count)
    return file.bytes
  }

  /// Reads a whole file; nil if it does not exist or can't be read.
  func read(_ path: String) -> [UInt8]? {
    guard let file = file(at: path), (try? take(.read, path, size: file.content.count)) != nil else {
      return nil
    }
    return file.bytes
  }

  /// Deletes a file if it exists. A power failure may undo the deletion.
  ///
  /// - Throws: a fault's error, or that the running process is not alive.
  func delete(_ path: String) throws(SimulatedDiskError) {
    try take(.delete, path)
    unlink(path, durably: false)
  }

  /// The sorted names of the files in a folder, without subfolders; empty if it can't be read.
  func list(_ folder: String) -> [String] {
    let prefix = folder.hasSuffix("/") ? folder : folder + "/"
    guard let running, prefix.hasPrefix("/\(running.machine)/"), isAlive(running),
      refusal(of: .list, path: folder, size: 0, for: running) == nil
    else { return [] }
    let below = paths(on: running.machine).filter { $0.hasPrefix(prefix) }.map {
      String($0.dropFirst(prefix.count))
    }
    return below.filter { !$0.contains("/") }.sorted()
  }

  /// Whether a file exists; false if that can't be determined.
  func exists(_ path: String) -> Bool { (try? take(.exists, path)) != nil && file(at: path) != nil }

  /// Takes a step for the running process, and returns the process.
  @discardableResult
  private func take(
    _ kind: Step.Kind, _ path: String, size: Int = 0
  ) throws(SimulatedDiskError) -> SimulatedProcess {
    guard let running, isAlive(running), Self.machine(of: path) == running.machine else {
      throw SimulatedDiskError(code: SQLITE_IOERR)
    }
    if let code = refusal(of: kind, path: path, size: size, for: running) {
      throw SimulatedDiskError(code: code)
    }
    return running
  }
}

// MARK: - Whole machines

extension SimulatedDisk {
  /// The files of a machine, for restoring them on this or another machine.
  struct Image: Hashable, Sendable {
    /// By the path after the machine's name.
    let files: TextMap<[UInt8]>
  }

  /// The current contents for a machine's processes, synced or not.
  func image(of machine: String) -> Image {
    var files: TextMap<[UInt8]> = [:]
    for path in paths(on: machine) {
      files[String(path.dropFirst(machine.count + 2))] = file(at: path)?.bytes
    }
    return Image(files: files)
  }

  /// Replaces all files of a machine durably, and kills its processes.
  func restore(_ image: Image, on machine: String) {
    killAll(on: machine)
    removeAllFiles(on: machine)
    for (name, bytes) in image.files {
      let file = makeFile(at: "/\(machine)/\(name)", on: machine)
      bytes.withUnsafeBytes { file.write($0, at: 0) }
      file.sync()
      file.nameIsDurable = true
    }
  }
}

extension SimulatedFile {
  fileprivate var bytes: [UInt8] { [UInt8](content.slice(0, content.count)) }
}
