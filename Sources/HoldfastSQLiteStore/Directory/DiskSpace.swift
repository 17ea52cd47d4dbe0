import HoldfastSQLite
import HoldfastService

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Checks for free disk space.
enum DiskSpace {
  /// Allocates space next to a file, and releases it.
  ///
  /// - Parameter bytes: the amount; the default fits a few records.
  /// - Throws: `SQLiteError` with `.full` if there is not enough space, `.cantOpen` if no file can be created there.
  static func check(beside path: String, bytes: Int = 1 << 20) throws(SQLiteError) {
    let probe = path + "-probe"
    let descriptor = open(probe, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    if descriptor < 0 {
      let code: SQLiteError.Code = errno == ENOSPC || errno == EDQUOT ? .full : .cantOpen
      throw SQLiteError(code, "\(probe) can't be made: \(systemMessage(errno)).", statement: nil)
    }
    unlink(probe)
    defer { close(descriptor) }
    let result = allocate(descriptor, off_t(bytes))
    // Some file systems cannot allocate in advance. The check then passes.
    guard [ENOSPC, EDQUOT, EFBIG].contains(result) else { return }
    throw SQLiteError(.full, "The disk of \(path) is full.", statement: nil)
  }

  /// Takes room for a file; gives the error's number, or 0.
  private static func allocate(_ descriptor: Int32, _ bytes: off_t) -> Int32 {
    #if canImport(Darwin)
      var room = fstore_t(
        fst_flags: UInt32(F_ALLOCATEALL), fst_posmode: F_PEOFPOSMODE, fst_offset: 0, fst_length: bytes,
        fst_bytesalloc: 0)
      return fcntl(descriptor, F_PREALLOCATE, &room) == 0 ? 0 : errno
    #else
      return posix_fallocate(descriptor, 0, bytes)
    #endif
  }
}
