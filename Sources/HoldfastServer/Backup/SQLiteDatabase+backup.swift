import Glibc
import HoldfastCore
import HoldfastSQLite
import HoldfastSQLiteStore
import HoldfastService

extension SQLiteDatabase {
  /// Writes a backup. SQLite can't copy to a stream, so it first makes a consistent copy beside the backup.
  func backUp(to path: String, at now: Int64) throws -> BackupManifest {
    let writer = try BackupWriter(path)
    let copy = writer.draft.copy
    // Created here with mode 600, so that no other user can read it.
    let made = Glibc.open(copy, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard made >= 0 else {
      throw ServerError(.unreachable, "\(path) can't be written: \(systemMessage(errno)).")
    }
    Glibc.close(made)
    let manifest = try writing(copy) {
      try SQLiteConnection(path: self.path, access: .readWrite).backup(to: copy)
      // A damaged database would be noticed only at the restore.
      try DamagedDatabase.check(SQLiteConnection(path: copy, access: .readWrite), self.path, isWhole: true)
      return try Self.manifest(of: copy, at: now)
    }
    try writer.begin(manifest)
    let file = Glibc.open(copy, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else {
      throw ServerError(.unreachable, "\(copy) can't be read: \(systemMessage(errno)).")
    }
    defer { Glibc.close(file) }
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
    while true {
      let count = Glibc.read(file, &buffer, buffer.count)
      if count < 0 { throw ServerError(.unreachable, "\(copy) can't be read: \(systemMessage(errno)).") }
      if count == 0 { break }
      try writer.add(Array(buffer.prefix(count)))
    }
    try writer.finish()
    return manifest
  }

  private static func manifest(of copy: String, at now: Int64) throws -> BackupManifest {
    let connection = try SQLiteConnection(path: copy, access: .readOnly)
    func meta(_ key: String) throws -> String {
      try connection.value("SELECT value FROM holdfast_meta WHERE key = ?", [.text(key)])?.text ?? ""
    }
    func count(_ table: String) throws -> Int64 {
      try connection.value("SELECT count(*) FROM \"\(table)\"")?.integer ?? 0
    }
    let schema = try SyncSchema(json: Array(meta("schema").utf8))
    return BackupManifest(
      engine: .sqlite, format: try connection.value("PRAGMA user_version")?.integer ?? 0,
      epoch: try meta("epoch"), schema: schema, takenAt: now, zones: try count("holdfast_zones"),
      records: try schema.tables.reduce(0) { try $0 + count($1.name) })
  }
}
