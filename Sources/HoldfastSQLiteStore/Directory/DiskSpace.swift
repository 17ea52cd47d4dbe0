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
    let result = allocate(descriptor, off_t(bytes))
    // Some file systems can't say it beforehand.
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
