package import HoldfastService
import HoldfastSystem

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The database file of a server. While it is held, no other server can hold the same file by another path.
///
/// The lock belongs to an open file description, and is on a byte far behind those that SQLite locks. Closing any descriptor of the file would
/// drop all locks that SQLite has on it in this process. So the descriptor stays open until the last object for the file is released, and
/// each connection of the server keeps one. Source: fcntl(2), "Open file description locks" and "Record locks".
package final class ServedFile: Sendable {
  private struct Identity: Hashable {
    let device: UInt64
    let number: UInt64

    init(_ status: stat) {
      device = UInt64(truncatingIfNeeded: status.st_dev)
      number = UInt64(truncatingIfNeeded: status.st_ino)
    }
  }

  /// A file that this process has open.
  private struct OpenFile {
    let descriptor: Int32
    /// The number of objects that need the descriptor.
    var users = 0
    var isHeld = false
  }

  private enum State {
    case none
    case held(Identity)
    case released(Identity)
  }

  private static let files = Locked<[Identity: OpenFile]>([:])

  private let path: String
  private let state = Locked(State.none)

  init(_ directory: DataDirectory) { path = directory.database }

  deinit {
    release()
    guard case .released(let identity) = state.withLock({ $0 }) else { return }
    Self.files.withLock { files in
      guard var file = files[identity] else { return }
      file.users -= 1
      files[identity] = file.users > 0 ? file : nil
      if file.users == 0 { close(file.descriptor) }
    }
  }

  /// Holds the file; does nothing if there is none yet, or it is held by this object.
  ///
  /// - Throws: `ServerError.inUse` if another server holds it, `unreachable` if it is not a regular file, `refused` if it has several names.
  package func hold() throws(ServerError) {
    try state.withLock { state throws(ServerError) in
      guard case .none = state, let identity = try Self.take(path) else { return }
      state = .held(identity)
    }
  }

  /// Lets other servers hold the file. A second call does nothing.
  func release() {
    state.withLock { state in
      guard case .held(let identity) = state else { return }
      state = .released(identity)
      Self.files.withLock { files in
        guard let file = files[identity] else { return }
        _ = Self.lock(file.descriptor, F_UNLCK)
        files[identity]?.isHeld = false
      }
    }
  }

  /// Opens and locks a file; nil if there is none.
  private static func take(_ path: String) throws(ServerError) -> Identity? {
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    try requireFile(status, path)
    let identity = Identity(status)
    let found = status
    return try files.withLock { files throws(ServerError) in
      guard var file = files[identity] ?? open(path, identity) else { return nil }
      // A file that another server of this process uses stays open.
      defer { if files[identity] == nil { close(file.descriptor) } }
      guard !file.isHeld, lock(file.descriptor, F_WRLCK) else {
        throw ServerError(
          .inUse,
          "Another server is using the file \(path), by another path. Stop it first, or give this one another --data directory."
        )
      }
      do throws(ServerError) { try requireOneName(found, path) } catch {
        _ = lock(file.descriptor, F_UNLCK)
        throw error
      }
      file.users += 1
      file.isHeld = true
      files[identity] = file
      return identity
    }
  }

  /// Checks what `hold` would refuse, without a lock.
  ///
  /// - Throws: `ServerError.unreachable` or `refused`.
  package static func check(_ directory: DataDirectory) throws(ServerError) {
    var status = stat()
    guard lstat(directory.database, &status) == 0 else { return }
    try requireFile(status, directory.database)
    try requireOneName(status, directory.database)
  }

  private static func requireFile(_ status: stat, _ path: String) throws(ServerError) {
    if status.st_mode & S_IFMT == S_IFREG { return }
    throw ServerError(
      .unreachable,
      "\(path) is not a regular file. Name the directory that has the database itself, not a link to it.")
  }

  private static func requireOneName(_ status: stat, _ path: String) throws(ServerError) {
    if status.st_nlink == 1 { return }
    throw ServerError(
      .refused,
      "\(path) has \(status.st_nlink) names (hard links): two servers could serve it, and lose edits. Remove the others, or serve a copy."
    )
  }

  /// Opens a file; nil where that fails, which SQLite reports.
  private static func open(_ path: String, _ identity: Identity) -> OpenFile? {
    let descriptor = openFile(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    var status = stat()
    guard descriptor >= 0 else { return nil }
    guard fstat(descriptor, &status) == 0, Identity(status) == identity else {
      close(descriptor)
      return nil
    }
    return OpenFile(descriptor: descriptor)
  }

  /// Locks or unlocks the byte; false if another process has locked it. File systems without such locks, and other systems than Linux,
  /// have the lock of the directory alone.
  private static func lock(_ descriptor: Int32, _ type: Int32) -> Bool {
    FileLock.set(descriptor, type, start: 1 << 62, length: 1) != .held
  }
}

/// A method of this name hides the system's function.
private func openFile(_ path: String, _ flags: Int32) -> Int32 { open(path, flags) }
