import Foundation
import HoldfastDigest

/// Writes a zone's snapshot, and computes its digest, while the next stretch comes.
///
/// @unchecked Sendable: its user is one thread at a time, and each work begins when the one before has ended.
final class SnapshotWriting: @unchecked Sendable {
  let zone: String
  /// What is here when all that was added is written.
  private(set) var progress: SnapshotProgress
  private let files: SnapshotDownloads
  private let digest = ContentDigest()
  private var work: Ahead<Void>

  /// Goes on behind what is here of the snapshot.
  init(_ zone: String, _ progress: SnapshotProgress, in files: SnapshotDownloads) {
    (self.zone, self.progress, self.files) = (zone, progress, files)
    work = Ahead { [digest] in try files.read(zone, progress.size) { digest.add($0) } }
  }

  /// Adds a stretch at the end.
  ///
  /// - Throws: why a stretch before could not be written.
  func add(_ bytes: [UInt8]) throws {
    try wait()
    progress.size += Int64(bytes.count)
    work = Ahead { [digest, files, zone] in
      try files.append(bytes, to: zone)
      digest.add(bytes)
    }
  }

  /// Waits until all that was added is written.
  func wait() throws { try work.value() }

  /// Whether the file, which is whole, is the one that the server means. Nothing can be asked afterwards.
  func isIntact() throws -> Bool {
    try wait()
    return Data(digest.finish()).base64EncodedString() == progress.digest
  }
}
