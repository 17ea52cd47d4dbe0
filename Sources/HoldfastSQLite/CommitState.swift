/// Which commit a database in WAL mode has reached: another after each commit, of whatever connection and process.
///
/// It is the header of the index of the write-ahead log: a count of the commits, the length of the log, and the checksum of its last frame. The index is
/// in memory that all processes share, so reading it takes neither a lock nor a system call. A new log after a checkpoint makes another state, too,
/// though nothing was committed. Source: <https://www.sqlite.org/walformat.html>, section 2.1.
package struct CommitState: Equatable, Sendable {
  /// The 48 bytes, and zeros.
  private let header: SIMD8<UInt64>

  init(header: SIMD8<UInt64>) { self.header = header }

  /// The count of the commits; wraps.
  private var commits: UInt32 {
    withUnsafeBytes(of: header) { $0.load(fromByteOffset: 8, as: UInt32.self) }
  }

  /// Whether the one commit that began in a state has led to this one, and no other commit.
  ///
  /// - Parameter before: the state that the transaction of the commit saw when it had the lock for writing.
  package func follows(_ before: CommitState) -> Bool { commits == before.commits &+ 1 }
}
