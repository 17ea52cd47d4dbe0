internal import CSockets
import Glibc

/// An open file as the content of answers. It costs constant memory, whatever its size.
///
/// Removing or replacing the file at its path has no effect on it; writing into the file has.
public final class HTTPFile: Sendable {
  /// The size in bytes when the file was opened.
  public let size: Int64
  /// A text that changes when the file is replaced or written to: its number, size and times, as hexadecimal numbers.
  public let version: String
  private let descriptor: Int32

  /// Opens a regular file; nil if it can't be read.
  public init?(path: String) {
    // Without O_NONBLOCK, opening a named pipe would wait for a writer.
    descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    var status = stat()
    guard descriptor >= 0, fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      // A failed initializer still runs deinit, which closes the file.
      size = 0
      version = ""
      return nil
    }
    size = Int64(status.st_size)
    let (written, changed) = (status.st_mtim, status.st_ctim)
    version = [
      Int64(status.st_ino), Int64(status.st_size), Int64(written.tv_sec), Int64(written.tv_nsec),
      Int64(changed.tv_sec), Int64(changed.tv_nsec),
    ].map { String($0, radix: 16) }.joined(separator: ".")
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// Sends bytes to a socket without copying them, with `sendfile(2)`.
  func send(to socket: Int32, from offset: inout off_t, count: Int) -> Int {
    sendfile(socket, descriptor, &offset, count)
  }

  /// Reads a range into memory; less if the file ends before.
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

  /// A range of a file.
  public struct Slice: Sendable {
    /// The file.
    public let file: HTTPFile
    /// The byte range.
    public let range: Range<Int64>

    /// Creates a range, clamped to the file's size.
    public init(_ file: HTTPFile, _ range: Range<Int64>) {
      self.file = file
      self.range = range.clamped(to: 0..<file.size)
    }

    /// The number of bytes.
    public var count: Int64 { range.upperBound - range.lowerBound }
    /// The bytes, read into memory.
    public var bytes: [UInt8] { file.read(range) }
  }
}
