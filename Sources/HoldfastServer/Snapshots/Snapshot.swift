import HoldfastCore
import HoldfastSQLite
import HoldfastService

/// The identity of a snapshot's content, except the seq: files of the same key and seq hold the same records.
struct SnapshotKey: Sendable, Hashable {
  let era: SnapshotEra
  /// The hash of the zone, the schema and the file layout.
  let hash: ContentHash

  init(_ zone: String, _ schema: SyncSchema, epoch: String) {
    era = SnapshotEra(schema, epoch: epoch)
    hash = ContentHash(of: ([zone] + SnapshotEra.form(of: schema)).map { Array($0.utf8) })
  }

  init(era: SnapshotEra, hash: ContentHash) { (self.era, self.hash) = (era, hash) }
}

/// What all snapshots have in common that a server can be asked for. Files of another era are of no use, and may have the data of users that
/// were erased since.
struct SnapshotEra: Sendable, Hashable {
  private static let epochLength = 8

  /// The epoch, then the beginning of the hash of the schema and the file layout; in hex.
  let text: String

  var epoch: Substring { text.prefix(Self.epochLength) }

  init(_ schema: SyncSchema, epoch: String) {
    text = epoch + ContentHash(of: Self.form(of: schema).map { Array($0.utf8) }).text.prefix(16)
  }

  /// Takes the part of a file's name as it is. One of another form is another era.
  init(_ text: Substring) { self.text = String(text) }

  fileprivate static func form(of schema: SyncSchema) -> [String] {
    [schema.text, "\(DeviceTables.applicationID).\(DeviceTables.formatVersion)"]
  }
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
  var state: String { "\(key.era.epoch).\(seq)-\(key.hash.text.prefix(16))" }

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
    "\(key.era.text)-\(seq)-\(key.hash.text)-\(digest.text).\(coding == .zstd ? "db.zst" : "db")"
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
        Snapshot.name(SnapshotKey(era: SnapshotEra(parts[0]), hash: hash), seq, $0, digest) == name
      })
    else { return nil }
    return (SnapshotKey(era: SnapshotEra(parts[0]), hash: hash), seq, coding, digest)
  }
}
