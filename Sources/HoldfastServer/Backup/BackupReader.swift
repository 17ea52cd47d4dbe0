import Glibc
import HoldfastCore
import HoldfastDigest
import HoldfastSQLiteStore
import HoldfastService

/// A backup file whose digest was verified.
final class BackupReader {
  let manifest: BackupManifest
  private let path: String
  private let file: Int32
  private let content: Range<Int>

  private static let portion = 1 << 20
  private static let manifestLimit = 16 << 20

  /// Opens a file and verifies its digest.
  ///
  /// - Throws: `ServerError`: `unreachable`; `notOurs`, `newer` or `damaged` for a file that is no complete backup.
  init(_ path: String) throws {
    self.path = path
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw ServerError(.unreachable, "\(path) can't be read: \(systemMessage(errno)).")
    }
    file = descriptor
    do { (manifest, content) = try Self.check(path, descriptor) } catch {
      close(descriptor)
      throw error
    }
  }

  deinit { close(file) }

  private static func check(_ path: String, _ file: Int32) throws -> (BackupManifest, Range<Int>) {
    var status = stat()
    let head = try read(file, at: 0, count: 12)
    guard fstat(file, &status) == 0, head.prefix(8).elementsEqual(BackupWriter.magic) else {
      throw ServerError(.notOurs, "\(path) is no backup of Holdfast.")
    }
    let damaged = ServerError(
      .damaged, "\(path) is cut off or was altered: its digest is another. Take another backup.")
    let size = Int(status.st_size)
    guard head.count == 12 else { throw damaged }
    let length = head[8...].reduce(0) { $0 << 8 | Int($1) }
    guard length <= manifestLimit, size >= 12 + length + 32 else { throw damaged }
    let digest = ContentDigest()
    var offset = 0
    while offset < size - 32 {
      let bytes = try read(file, at: offset, count: min(portion, size - 32 - offset))
      if bytes.isEmpty { throw damaged }
      digest.add(bytes)
      offset += bytes.count
    }
    guard try read(file, at: offset, count: 32) == digest.finish() else { throw damaged }
    return (
      try BackupManifest(parsing: read(file, at: 12, count: length)), 12 + length..<size - 32
    )
  }

  /// Passes the content to `body`, one portion at a time.
  func read(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    let decompressor = try ZstandardDecompressor()
    var offset = content.lowerBound
    while offset < content.upperBound {
      let bytes = try Self.read(file, at: offset, count: min(Self.portion, content.upperBound - offset))
      if bytes.isEmpty { break }
      offset += bytes.count
      try bytes.withUnsafeBytes { try decompressor.add($0, body) }
    }
    if !decompressor.hasEnded { throw ServerError(.damaged, "\(path) ends too early.") }
  }

  private static func read(_ file: Int32, at offset: Int, count: Int) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var filled = 0
    while filled < count {
      let read = bytes.withUnsafeMutableBytes {
        pread(file, $0.baseAddress.map { $0 + filled }, count - filled, offset + filled)
      }
      if read < 0, errno == EINTR { continue }
      if read < 0 { throw ServerError(.unreachable, "The backup can't be read: \(systemMessage(errno)).") }
      if read == 0 { break }
      filled += read
    }
    return Array(bytes.prefix(filled))
  }
}
