import HoldfastSQLite
import HoldfastService

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Whether there is room on a disk.
enum DiskSpace {
  /// Takes room beside a file, and gives it back.
  ///
  /// - Parameter bytes: how much; what a few records take, unless given.
  /// - Throws: `SQLiteError` with `.full` when there is not so much, `.cantOpen` when no file can be made there.
  static func check(beside path: String, bytes: Int = 1 << 20) throws(SQLiteError) {
    let probe = path + "-probe"
    let descriptor = open(probe, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    if descriptor < 0 {
      let code: SQLiteError.Code = errno == ENOSPC || errno == EDQUOT ? .full : .cantOpen
      throw SQLiteError(code, "\(probe) can't be made: \(systemMessage(errno)).", statement: nil)
    }
    unlink(probe)
    defer { close(descriptor) }
    let result = posix_fallocate(descriptor, 0, off_t(bytes))
    // Some file systems can't say it beforehand.
    guard [ENOSPC, EDQUOT, EFBIG].contains(result) else { return }
    throw SQLiteError(.full, "The disk of \(path) is full.", statement: nil)
  }
}
