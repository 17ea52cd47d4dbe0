#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A lock that belongs to an open file description, and ends when that is closed. Source: fcntl(2), "Open file description locks".
package enum FileLock {
  /// What came of asking for a lock.
  package enum Outcome {
    case taken
    /// Another open file description has one that excludes it.
    case held
    /// The system, or the file's, has no such locks.
    case unsupported
  }

  /// Asks for a lock, without waiting.
  ///
  /// - Parameters:
  ///   - type: `F_RDLCK`, `F_WRLCK`, or `F_UNLCK` to let go.
  ///   - start: the first byte.
  ///   - length: the number of bytes; 0 for all from the first on.
  package static func set(_ descriptor: Int32, _ type: Int32, start: Int64 = 0, length: Int64 = 0) -> Outcome
  {
    #if os(Linux)
      var range = flock()
      range.l_type = Int16(type)
      range.l_whence = Int16(SEEK_SET)
      range.l_start = Int(start)
      range.l_len = Int(length)
      if fcntl(descriptor, setLock, &range) == 0 { return .taken }
      return errno == EAGAIN || errno == EACCES ? .held : .unsupported
    #else
      return .unsupported
    #endif
  }
}

#if os(Linux)
  /// `F_OFD_SETLK`, which Swift's Glibc does not have. Source: <linux/fcntl.h>.
  private let setLock: Int32 = 37
#endif
