import Foundation
import HoldfastCore

/// A snapshot of which a part may be here already.
struct SnapshotProgress: Sendable, Equatable {
  /// The ETag of the file, with its quotes.
  let tag: String
  /// The SHA-256 of the whole file, in base64.
  let digest: String
  /// How many bytes the whole file has.
  let total: Int64
  /// How many are here.
  var size: Int64 = 0
}

/// Where snapshots are kept while they come: two files for each zone, in a folder beside the database. What is lost with a crash is fetched again,
/// and what is damaged shows by its digest.
struct SnapshotDownloads: Sendable {
  private let folder: URL

  /// The folder for a database: its path with `-snapshots` behind it.
  init(database path: String) { folder = URL(fileURLWithPath: path + "-snapshots", isDirectory: true) }

  /// The file of a zone's snapshot.
  func file(_ zone: String) -> URL {
    folder.appendingPathComponent(Fingerprint(of: zone).text + ".db")
  }

  private func note(_ zone: String) -> URL {
    folder.appendingPathComponent(Fingerprint(of: zone).text + ".json")
  }

  /// What is here of a zone's snapshot, or nil.
  func progress(_ zone: String) -> SnapshotProgress? {
    guard let bytes = try? Data(contentsOf: note(zone)), let note = try? JSONValue(parsing: [UInt8](bytes)),
      note["zone"]?.stringValue == zone, let tag = note["tag"]?.stringValue,
      let digest = note["digest"]?.stringValue, let total = note["total"]?.integerValue
    else { return nil }
    let attributes = try? FileManager.default.attributesOfItem(atPath: file(zone).path)
    let size = (attributes?[.size] as? NSNumber)?.int64Value ?? 0
    return SnapshotProgress(tag: tag, digest: digest, total: total, size: size)
  }

  /// Whether the disk has room for a file of so many bytes, and for its records beside it. True where that can't be told.
  func hasRoom(for bytes: Int64) -> Bool {
    let place = folder.deletingLastPathComponent().path
    let attributes = try? FileManager.default.attributesOfFileSystem(forPath: place)
    let free = (attributes?[.systemFreeSize] as? NSNumber)?.int64Value ?? .max
    return bytes <= free / 2
  }

  /// Begins a zone's snapshot, instead of any before.
  func begin(_ zone: String, _ progress: SnapshotProgress) throws {
    remove(zone)
    try PrivateFile.makeFolder(folder.path)
    let note = JSONValue.object([
      .init("zone", .string(zone)), .init("tag", .string(progress.tag)),
      .init("digest", .string(progress.digest)),
      .init("total", .integer(progress.total)),
    ])
    for (file, bytes) in [(file(zone), []), (self.note(zone), note.bytes)] {
      try bytes.withUnsafeBytes { try PrivateFile.write($0, to: file.path, isDurable: false) }
    }
  }

  /// Adds a stretch at the end.
  func append(_ bytes: [UInt8], to zone: String) throws {
    let handle = try FileHandle(forWritingTo: file(zone))
    defer { try? handle.close() }
    try handle.seekToEnd()
    // Not to the disk: what a loss of power damages shows by its digest.
    try bytes.withUnsafeBytes { try handle.write(contentsOf: $0) }
  }

  /// Reads the first bytes of a zone's file, in stretches.
  func read(_ zone: String, _ size: Int64, _ body: (UnsafeRawBufferPointer) -> Void) throws {
    let handle = try FileHandle(forReadingFrom: file(zone))
    defer { try? handle.close() }
    var rest = size
    while rest > 0, let part = try handle.read(upToCount: Int(min(rest, 1 << 20))), !part.isEmpty {
      part.withUnsafeBytes(body)
      rest -= Int64(part.count)
    }
  }

  /// From now on the file of a zone is none that a download goes on with.
  func removeNote(_ zone: String) { try? FileManager.default.removeItem(at: note(zone)) }

  /// Removes what is here of a zone's snapshot.
  func remove(_ zone: String) {
    for file in [note(zone), file(zone)] { try? FileManager.default.removeItem(at: file) }
  }

  /// Removes what is here of snapshots of all zones but these.
  func removeAll(but zones: [String]) {
    let known = TextSet(zones.flatMap { [note($0), file($0)] }.map(\.lastPathComponent))
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    for name in names where !known.contains(name) {
      try? FileManager.default.removeItem(at: folder.appendingPathComponent(name))
    }
  }
}
