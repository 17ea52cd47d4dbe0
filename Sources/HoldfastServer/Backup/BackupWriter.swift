import Glibc
import HoldfastCore
import HoldfastSQLiteStore
import HoldfastService

/// Writes a backup to a file that appears only when it is complete. If the writer is released before `finish()`, no file is left.
final class BackupWriter {
  static let magic = Array("HfBackup".utf8)

  private let path: String
  private let file: Int32
  private let compressor: ZstandardCompressor
  private var hash = SHA256()
  private var isOpen = true
  private var temporary: String { path + ".tmp" }

  /// - Throws: `ServerError` if the file can't be created, or exists.
  init(_ path: String, _ manifest: BackupManifest) throws {
    var status = stat()
    if stat(path, &status) == 0 {
      throw ServerError(.refused, "\(path) is there already. Name another file.")
    }
    self.path = path
    compressor = try ZstandardCompressor()
    // What is left there may be another user's, or a link.
    unlink(path + ".tmp")
    let descriptor = open(path + ".tmp", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw ServerError(.unreachable, "\(path) can't be written: \(systemMessage(errno)).")
    }
    file = descriptor
    let text = manifest.json.bytes
    try write(Self.magic + bigEndian(UInt32(text.count)) + text)
  }

  deinit {
    if !isOpen { return }
    close(file)
    unlink(temporary)
  }

  /// Adds content.
  func add(_ bytes: [UInt8]) throws {
    if !bytes.isEmpty { try compressor.add(bytes) { try write($0) } }
  }

  /// Completes the file and gives it its name.
  func finish() throws {
    try compressor.add([], isLast: true) { try write($0) }
    try hash.hash().withUnsafeBytes { try put($0) }
    guard fsync(file) == 0 else { throw failure() }
    isOpen = false
    defer { unlink(temporary) }
    // Unlike rename, link does not replace a file that was created there meanwhile.
    guard close(file) == 0, link(temporary, path) == 0 else { throw failure() }
    try syncFolder(of: path)
  }

  private func write(_ bytes: [UInt8]) throws { try bytes.withUnsafeBytes { try write($0) } }

  private func write(_ bytes: UnsafeRawBufferPointer) throws {
    hash.add(bytes)
    try put(bytes)
  }

  private func put(_ bytes: UnsafeRawBufferPointer) throws {
    var rest = bytes
    while !rest.isEmpty {
      let count = Glibc.write(file, rest.baseAddress, rest.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw failure() }
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
    }
  }

  private func failure() -> ServerError {
    ServerError(.unreachable, "\(path) can't be written: \(systemMessage(errno)).")
  }
}
