package import HoldfastService
import HoldfastSQLite
import HoldfastSystem

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The directory that contains a server's database.
package struct DataDirectory: Sendable {
  package let path: String

  package init(path: String) {
    self.path = path
  }

  /// The database file.
  package var database: String { path + "/holdfast.db" }
  /// The history mark next to the database.
  package var history: String { path + "/holdfast.history" }

  /// Creates the directory if it is missing, accessible only to its owner.
  ///
  /// - Throws: `ServerError.unreachable`.
  package func make() throws(ServerError) {
    if mkdir(path, 0o700) != 0, errno != EEXIST {
      throw ServerError(
        .unreachable,
        "The data directory \(path) can't be made: \(systemMessage(errno)). Name another with --data.")
    }
  }

  /// Whether there is a nonempty database file.
  ///
  /// - Throws: `ServerError.unreachable` if that cannot be determined.
  package func hasDatabase() throws(ServerError) -> Bool {
    var status = stat()
    if stat(database, &status) == 0 { return status.st_size > 0 }
    if errno == ENOENT { return false }
    throw ServerError(
      .unreachable, "\(database) can't be read: \(systemMessage(errno)). Check the directory's rights.")
  }
}

/// The exclusive lock on a data directory. It ends with `release`, with the object, and with the process.
package final class DataDirectoryLock: Sendable {
  /// The database in the directory.
  package let file: ServedFile
  private let descriptor: Int32
  private let isHeld = Locked(true)

  /// Takes the lock.
  ///
  /// - Throws: `ServerError.inUse` if another server holds it, `unreachable` if the file cannot be created.
  package init(_ directory: DataDirectory) throws(ServerError) {
    let path = directory.path + "/holdfast.lock"
    file = ServedFile(directory)
    descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    if descriptor < 0 {
      throw ServerError(
        .unreachable, "\(path) can't be opened: \(systemMessage(errno)). Check the directory's rights.")
    }
    if flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      // No close here: `deinit` also runs after this throw, and closes the file.
      throw ServerError(
        .inUse,
        "Another server is using \(directory.path). Stop it first, or give this one another --data directory."
      )
    }
  }

  deinit { release() }

  /// Releases the lock. A second call does nothing.
  package func release() {
    let wasHeld = isHeld.withLock { isHeld in
      defer { isHeld = false }
      return isHeld
    }
    guard wasHeld else { return }
    file.release()
    // A child process that was just forked holds the descriptor until it runs its program. Closing alone would leave the lock with it.
    flock(descriptor, LOCK_UN)
    close(descriptor)
  }
}

/// The system's message for an error number, and what to do where the place of a file is the reason.
package func systemMessage(_ number: Int32) -> String {
  let message = String(cString: strerror(number))
  switch number {
  case ENOSPC, EDQUOT, EFBIG: return "\(message) (free some space, or name another place)"
  case EROFS: return "\(message) (name another place, or mount this one for writing)"
  default: return message
  }
}

/// Names the file that SQLite can't write, which its errors do not.
///
/// - Throws: `ServerError.unreachable` for such an error; others of `body` as they are.
package func writing<Result>(_ path: String, _ body: () throws -> Result) throws -> Result {
  do { return try body() } catch let error as SQLiteError
    where [.full, .ioError, .cantOpen, .readOnly].contains(error.code.primary)
  {
    throw ServerError(
      .unreachable, "\(path) can't be written: free some space there, or name another place. \(error)")
  }
}

/// Syncs the folder of a file, so that the file's name is durable.
package func syncFolder(of path: String) throws(ServerError) {
  let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
  let descriptor = open(folder.isEmpty ? "/" : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
  defer { if descriptor >= 0 { close(descriptor) } }
  guard descriptor >= 0, fsync(descriptor) == 0 else {
    throw ServerError(.unreachable, "\(folder) can't be synced: \(systemMessage(errno)).")
  }
}
