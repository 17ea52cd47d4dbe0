import HoldfastConcurrency
package import HoldfastService

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The directory in which a server keeps its database.
package struct DataDirectory: Sendable {
  package let path: String

  package init(path: String) {
    self.path = path
  }

  /// The database file.
  package var database: String { path + "/holdfast.db" }
  /// What is kept beside it of its history.
  package var history: String { path + "/holdfast.history" }

  /// Makes the directory when it is missing, readable by its owner alone.
  ///
  /// - Throws: `ServerError.unreachable`.
  package func make() throws(ServerError) {
    if mkdir(path, 0o700) != 0, errno != EEXIST {
      throw ServerError(
        .unreachable,
        "The data directory \(path) can't be made: \(systemMessage(errno)). Name another with --data.")
    }
  }

  /// Whether there is a database file with something in it.
  ///
  /// - Throws: `ServerError.unreachable` when that can't be seen.
  package func hasDatabase() throws(ServerError) -> Bool {
    var status = stat()
    if stat(database, &status) == 0 { return status.st_size > 0 }
    if errno == ENOENT { return false }
    throw ServerError(
      .unreachable, "\(database) can't be read: \(systemMessage(errno)). Check the directory's rights.")
  }
}

/// The right to be the one server of a data directory; ends when it is given up or let go, and with the process.
package final class DataDirectoryLock: Sendable {
  private let descriptor: Int32
  private let isHeld = Locked(true)

  /// Takes the lock.
  ///
  /// - Throws: `ServerError.inUse` when another server has it, `unreachable` when the file can't be made.
  package init(_ directory: DataDirectory) throws(ServerError) {
    let path = directory.path + "/holdfast.lock"
    descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    if descriptor < 0 {
      throw ServerError(
        .unreachable, "\(path) can't be opened: \(systemMessage(errno)). Check the directory's rights.")
    }
    if flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      // What throws here is let go of like any other: it closes the file.
      throw ServerError(
        .inUse,
        "Another server is using \(directory.path). Stop it first, or give this one another --data directory."
      )
    }
  }

  deinit { release() }

  /// Lets another server have the directory. A second call does nothing.
  package func release() {
    let wasHeld = isHeld.withLock { isHeld in
      defer { isHeld = false }
      return isHeld
    }
    guard wasHeld else { return }
    // A child that was forked at this moment has the descriptor, too, until its program runs: closed alone, the lock would stay with it.
    flock(descriptor, LOCK_UN)
    close(descriptor)
  }
}

/// The system's words for an error number.
package func systemMessage(_ number: Int32) -> String { String(cString: strerror(number)) }

/// Makes the name of a file durable.
package func syncFolder(of path: String) throws(ServerError) {
  let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
  let descriptor = open(folder.isEmpty ? "/" : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
  defer { if descriptor >= 0 { close(descriptor) } }
  guard descriptor >= 0, fsync(descriptor) == 0 else {
    throw ServerError(.unreachable, "\(folder) can't be synced: \(systemMessage(errno)).")
  }
}
