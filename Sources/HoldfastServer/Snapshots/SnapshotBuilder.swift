import Glibc
import HoldfastCore
import HoldfastSQLite
import HoldfastSQLiteStore
import HoldfastService

/// The contents of a snapshot.
public enum SnapshotContents: Sendable, Hashable {
  /// One zone, without regard to a user.
  case zone(String)
  /// All public zones of the schema.
  case publicZones
  /// The records that the user with this name may read.
  case user(String)
}

/// Writes snapshots: databases in a device's format, without a device. See docs/SNAPSHOTS.md, section 1.
struct SnapshotBuilder {
  /// The size in bytes at which a page of changes in memory is full.
  private static let pageSize = 4 << 20

  let schema: SyncSchema
  let epoch: String
  /// Whether to give up, asked from time to time.
  var isInterrupted: @Sendable () -> Bool = { false }

  /// A zone in a snapshot.
  struct Zone: Sendable, Equatable {
    let zone: String
    let seq: Int64
  }

  /// Writes a snapshot to a new file, and syncs it to disk. All records are from one database snapshot.
  ///
  /// - Parameter path: a path without a file, also with the suffix `.build`.
  /// - Throws: `ServerError.notFound` if there is no such zone or user; errors of the store and of SQLite. Incomplete files are removed.
  func build(_ contents: SnapshotContents, from reader: any StoreReader, to path: String) throws -> [Zone] {
    let draft = path + ".build"
    var isWhole = false
    defer {
      for leftOver in [draft, draft + "-journal"] + (isWhole ? [] : [path]) { unlink(leftOver) }
    }
    let connection = try SQLiteConnection(path: draft)
    // The draft is discarded on any failure, so it needs no journal.
    try connection.execute(
      "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -65536;"
    )
    let zones = try connection.run(until: isInterrupted) {
      let zones = try connection.transaction { try write(contents, from: reader, to: connection) }
      // No statistics: a device has none, and statistics of this state would mislead its planner as it grows.
      try connection.run("VACUUM INTO ?", [.text(path)])
      return zones
    }
    connection.close()
    try syncToDisk(path)
    isWhole = true
    return zones
  }

  private func write(
    _ contents: SnapshotContents, from reader: any StoreReader, to connection: SQLiteConnection
  ) throws -> [Zone] {
    let tables = DeviceTables(schema: schema)
    try connection.execute(DeviceTables.own)
    for table in schema.tables.indices { try connection.execute(tables.table(table)) }
    let zones = try reader.moment { try fill(connection, contents, from: reader) }
    for table in schema.tables.indices { try connection.execute(tables.triggers(table)) }
    try connection.execute(
      """
      PRAGMA application_id = \(DeviceTables.applicationID); PRAGMA user_version = \(DeviceTables.formatVersion);
      """)
    return zones
  }

  private func fill(
    _ connection: SQLiteConnection, _ contents: SnapshotContents, from reader: any StoreReader
  ) throws -> [Zone] {
    let (user, names) = try zones(of: contents, reader)
    try connection.run(
      "INSERT INTO holdfast_local (one, schema, replica, user, name) VALUES (1, ?, '', ?, ?)",
      [.text(schema.text), user.map { .text($0.id) } ?? .null, user.map { .text($0.name) } ?? .null])
    var pages = SnapshotPages(schema, on: connection)
    var zones: [Zone] = []
    for name in names {
      guard let zone = try reader.zone(name, for: user?.id), !zone.role.isEmpty else {
        throw ServerError(.notFound, "There is no zone \(name). `holdfast zones` lists them.")
      }
      let seq = try write(zone, for: user?.id, from: reader, to: &pages)
      let token = ChangeToken(epoch: epoch, seq: seq).text
      try connection.run(
        "INSERT INTO holdfast_zones (zone, role, token, ack) VALUES (?, ?, ?, ?)",
        [.text(name), .text(user == nil ? "" : zone.role), .text(token), .text(token)])
      zones.append(Zone(zone: name, seq: seq))
    }
    return zones
  }

  private func zones(
    of contents: SnapshotContents, _ reader: any StoreReader
  ) throws -> (user: (id: String, name: String)?, zones: [String]) {
    switch contents {
    case .zone(let zone): return (nil, [zone])
    case .publicZones:
      guard !schema.publicZones.isEmpty else {
        throw ServerError(.notFound, "The schema has no public zone.")
      }
      return (nil, schema.publicZones)
    case .user(let name):
      guard let id = try reader.account(name)?.id else {
        throw ServerError(.notFound, "There is no user \(name). `holdfast users` lists them.")
      }
      let own = try reader.memberships(of: id)
      return ((id, name), own + schema.publicZones.filter { !own.contains($0) })
    }
  }

  /// Writes all records of a zone, and returns its seq.
  private func write(
    _ zone: ZoneProgress, for user: String?, from reader: any StoreReader, to pages: inout SnapshotPages
  ) throws -> Int64 {
    var zone = zone
    while true {
      guard let now = try reader.refreshed([zone]).first, !now.role.isEmpty else {
        throw ServerError(.notFound, "The zone \(zone.zone) can't be read any more.")
      }
      var writer = JSONWriter(capacity: Self.pageSize + 64 << 10)
      let written = try reader.writeChanges(of: now, to: &writer, limit: Self.pageSize, count: .max)
      try pages.write(writer.bytes, of: zone.zone)
      if !written.hasMore { return written.seq }
      guard written.last > zone.ack.seq else {
        throw ServerError(.notFound, "The zone \(zone.zone) can't be read any more.")
      }
      zone = now.acked(written.last)
    }
  }
}

/// Writes pages of changes into a snapshot, with the code of a device.
private struct SnapshotPages {
  private let schema: SyncSchema
  private let connection: SQLiteConnection
  private let statements: [TableStatements]
  private let forms: [PageParser.Form]

  init(_ schema: SyncSchema, on connection: SQLiteConnection) {
    self.schema = schema
    self.connection = connection
    statements = schema.tables.map(TableStatements.init)
    forms = schema.tables.map { PageParser.Form($0) }
  }

  mutating func write(_ bytes: [UInt8], of zone: String) throws {
    let page = try PageParser.parse(bytes, bytes.indices, tables: forms)
    try page.bytes.withUnsafeBufferPointer { bytes in
      var writers: [DeviceRecordWriter?] = Array(repeating: nil, count: schema.tables.count)
      // In one database snapshot each record occurs once, so a tombstone removes nothing.
      for change in page.changes where !change.isDeleted {
        let writer =
          try writers[change.table]
          ?? DeviceRecordWriter(
            schema.tables[change.table], statements[change.table], on: connection, zone: zone, page: page,
            bytes: bytes)
        writers[change.table] = writer
        try writer.write(change)
      }
      for writer in writers { try writer?.finish() }
    }
  }
}

/// Syncs a file to disk.
///
/// - Throws: `ServerError.unreachable`.
func syncToDisk(_ path: String) throws(ServerError) {
  let descriptor = open(path, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0, fsync(descriptor) == 0 else {
    let reason = systemMessage(errno)
    if descriptor >= 0 { close(descriptor) }
    throw ServerError(.unreachable, "\(path) can't be written: \(reason).")
  }
  close(descriptor)
}
