import Glibc
import HoldfastCore
import HoldfastDigest
import HoldfastSQLiteStore
import HoldfastService

/// Writes a backup to a file that appears only when it is complete. If the writer is released before `finish()`, no file is left.
final class BackupWriter {
  static let magic = Array("HfBackup".utf8)

  /// The files beside the backup until then.
  let draft: BackupDraft
  private let compressor: ZstandardCompressor
  private let digest = ContentDigest()

  /// - Throws: `ServerError` if the file can't be created, or exists.
  init(_ path: String) throws {
    var status = stat()
    if stat(path, &status) == 0 {
      throw ServerError(.refused, "\(path) is there already. Name another file.")
    }
    compressor = try ZstandardCompressor()
    draft = try BackupDraft(of: path)
  }

  /// Writes the header. Call it once, before any content.
  func begin(_ manifest: BackupManifest) throws {
    let text = manifest.json.bytes
    try write(Self.magic + bigEndian(UInt32(text.count)) + text)
  }

  /// Adds content.
  func add(_ bytes: [UInt8]) throws {
    if !bytes.isEmpty { try compressor.add(bytes) { try write($0) } }
  }

  /// Completes the file and gives it its name.
  func finish() throws {
    try compressor.add([], isLast: true) { try write($0) }
    try digest.finish().withUnsafeBytes { try put($0) }
    try draft.publish()
  }

  private func write(_ bytes: [UInt8]) throws { try bytes.withUnsafeBytes { try write($0) } }

  private func write(_ bytes: UnsafeRawBufferPointer) throws {
    digest.add(bytes)
    try put(bytes)
  }

  private func put(_ bytes: UnsafeRawBufferPointer) throws {
    var rest = bytes
    while !rest.isEmpty {
      let count = Glibc.write(draft.file, rest.baseAddress, rest.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        throw ServerError(.unreachable, "\(draft.path) can't be written: \(systemMessage(errno)).")
      }
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
    }
  }
}
