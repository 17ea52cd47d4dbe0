import Glibc
import HoldfastCore
import HoldfastSQLiteStore
import HoldfastService

/// The files beside a backup while it is written: `FILE.tmp`, and with SQLite `FILE.copy` and its logs.
///
/// `FILE.tmp` is made first and removed last, and is locked in between. The files of a process that was killed are those without a lock.
final class BackupDraft {
  /// The file that becomes the backup, open for writing.
  let file: Int32
  let path: String
  /// The path of an SQLite copy.
  var copy: String { path + Self.copyEndings[0] }

  private static let copyEndings = ["", "-journal", "-wal", "-shm"].map { ".copy" + $0 }
  private static let temporaryEnding = ".tmp"

  /// Removes what a killed process left there, and makes the file.
  ///
  /// - Parameter path: where the backup is to be.
  /// - Throws: `ServerError`: `inUse` while another process writes the same backup.
  init(of path: String) throws {
    self.path = path
    try Self.clear(path)
    file = try Self.make(path)
    // Copies of a process that was killed between its two removals. SQLite would apply a log.
    Self.removeCopy(path)
  }

  deinit {
    Self.removeCopy(path)
    unlink(path + Self.temporaryEnding)
    close(file)
  }

  /// Gives the file the backup's name.
  func publish() throws {
    // Unlike rename, link does not replace a file that was created there meanwhile.
    guard fsync(file) == 0, link(path + Self.temporaryEnding, path) == 0 else {
      throw ServerError(.unreachable, "\(path) can't be written: \(systemMessage(errno)).")
    }
    do { try syncFolder(of: path) } catch {
      unlink(path)
      throw error
    }
  }

  /// Removes what killed processes left of backups in a folder, and nothing that a running process may need.
  ///
  /// - Parameter names: the names in the folder.
  static func removeLeftovers(in folder: String, _ names: [String]) {
    let backups = names.compactMap { name in
      (copyEndings + [temporaryEnding]).first(where: name.hasSuffix).map {
        String(name.dropLast($0.count))
      }
    }
    // To take a draft clears it, and to let it go removes it.
    for name in TextSet(backups) where BackupName(name) != nil {
      _ = try? BackupDraft(of: "\(folder)/\(name)")
    }
  }

  private static func removeCopy(_ path: String) { for ending in copyEndings { unlink(path + ending) } }

  /// Removes the files of a process that ended.
  private static func clear(_ path: String) throws {
    var status = stat()
    let file = open(path + temporaryEnding, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    if file < 0, errno == ENOENT { return }
    let isLink = file < 0 && errno == ELOOP
    defer { if file >= 0 { close(file) } }
    let isPipe = fstat(file, &status) == 0 && status.st_mode & S_IFMT != S_IFREG
    // A file without a name was finished meanwhile, and its name may be another's.
    guard
      isLink || isPipe
        || FileLock.set(file, F_WRLCK) == .taken && fstat(file, &status) == 0 && status.st_nlink > 0
    else {
      throw inUse(path)
    }
    removeCopy(path)
    unlink(path + temporaryEnding)
  }

  /// Makes and locks the file. A file system without locks has none.
  private static func make(_ path: String) throws -> Int32 {
    let file = open(
      path + temporaryEnding, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else {
      throw ServerError(.unreachable, "\(path) can't be written: \(systemMessage(errno)).")
    }
    var status = stat()
    let lock = FileLock.set(file, F_WRLCK)
    // Another process that clears may have been faster than the lock.
    guard lock != .held, fstat(file, &status) == 0, status.st_nlink == 1 else {
      close(file)
      throw inUse(path)
    }
    return file
  }

  private static func inUse(_ path: String) -> ServerError {
    ServerError(
      .inUse,
      "\(path)\(temporaryEnding) is there, and may be of a backup that is running. Wait for its end, remove the file, or name another."
    )
  }
}
