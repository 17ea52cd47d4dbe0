internal import CSockets
import Glibc

/// A file that is open for reading: the content of answers, which cost constant memory whatever its size.
///
/// Removing or replacing the file at its path changes nothing here; writing into it would.
public final class HTTPFile: Sendable {
  /// Its size in bytes when it was opened.
  public let size: Int64
  private let descriptor: Int32

  /// Opens a file; nil when there is none that can be read.
  public init?(path: String) {
    descriptor = open(path, O_RDONLY | O_CLOEXEC)
    var status = stat()
    guard descriptor >= 0, fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      // What fails here is let go of like any other: it closes the file.
      size = 0
      return nil
    }
    size = Int64(status.st_size)
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// Sends bytes to a socket without a copy; as `sendfile(2)`.
  func send(to socket: Int32, from offset: inout off_t, count: Int) -> Int {
    sendfile(socket, descriptor, &offset, count)
  }

  /// Reads a stretch into memory; fewer bytes where the file ends.
  public func read(_ range: Range<Int64>) -> [UInt8] {
    let range = range.clamped(to: 0..<size)
    return [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
      while count < range.count {
        guard let base = buffer.baseAddress else { return }
        let read = pread(
          descriptor, base + count, range.count - count, off_t(range.lowerBound) + off_t(count))
        if read <= 0 { return }
        count += read
      }
    }
  }

  /// A stretch of a file.
  public struct Slice: Sendable {
    /// The file.
    public let file: HTTPFile
    /// The bytes.
    public let range: Range<Int64>

    /// A stretch of a file, which is brought inside of it.
    public init(_ file: HTTPFile, _ range: Range<Int64>) {
      self.file = file
      self.range = range.clamped(to: 0..<file.size)
    }

    /// How many bytes it has.
    public var count: Int64 { range.upperBound - range.lowerBound }
    /// All of it, in memory.
    public var bytes: [UInt8] { file.read(range) }
  }
}
