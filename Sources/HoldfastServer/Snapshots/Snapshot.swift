import HoldfastCore
import HoldfastSQLite
import HoldfastService

/// The identity of a snapshot's content, except the seq: files of the same key and seq hold the same records.
struct SnapshotKey: Sendable, Hashable {
  let epoch: String
  /// The hash of the zone, the schema and the file layout.
  let hash: ContentHash

  init(_ zone: String, _ schema: SyncSchema, epoch: String) {
    self.epoch = epoch
    let texts = [zone, schema.text, "\(DeviceTables.applicationID).\(DeviceTables.formatVersion)"]
    hash = ContentHash(of: texts.map { Array($0.utf8) })
  }

  init(epoch: String, hash: ContentHash) { (self.epoch, self.hash) = (epoch, hash) }
}

/// The codings in which a snapshot is sent.
enum SnapshotCoding: String, CaseIterable, Sendable {
  case identity, zstd
}

/// A snapshot of a zone: its seq, and its file in each coding.
struct Snapshot: Sendable {
  struct Form: Sendable {
    let path: String
    let size: Int64
    let digest: ContentHash
  }

  let key: SnapshotKey
  let seq: Int64
  let forms: [SnapshotCoding: Form]

  /// The common prefix of the ETags of all codings.
  var state: String { "\(key.epoch).\(seq)-\(key.hash.text.prefix(16))" }

  var size: Int64 { forms.values.reduce(0) { $0 + $1.size } }

  /// The strong ETag of a coding, with quotes.
  func tag(_ coding: SnapshotCoding) -> String {
    let digest = forms[coding]?.digest.text.prefix(16) ?? ""
    return "\"\(state)-\(digest)\""
  }

  /// The file name of a coding, which contains all metadata.
  static func name(_ key: SnapshotKey, _ seq: Int64, _ coding: SnapshotCoding, _ digest: ContentHash)
    -> String
  {
    "\(key.epoch)-\(seq)-\(key.hash.text)-\(digest.text).\(coding == .zstd ? "db.zst" : "db")"
  }

  /// Parses a file name; nil if the file is no snapshot.
  static func parse(
    _ name: String
  ) -> (key: SnapshotKey, seq: Int64, coding: SnapshotCoding, digest: ContentHash)? {
    let stem = name.prefix { $0 != "." }
    let parts = stem.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 4, let seq = Int64(parts[1]), let hash = ContentHash(parts[2]),
      let digest = ContentHash(parts[3]),
      let coding = SnapshotCoding.allCases.first(where: {
        Snapshot.name(SnapshotKey(epoch: String(parts[0]), hash: hash), seq, $0, digest) == name
      })
    else { return nil }
    return (SnapshotKey(epoch: String(parts[0]), hash: hash), seq, coding, digest)
  }
}
