import HoldfastCore
import HoldfastPostgres
import HoldfastPostgresStore
import HoldfastService

/// Fills a new PostgreSQL database from a backup, in the transaction that creates its tables.
struct PostgresRestore {
  let location: PostgresLocation

  init(_ location: PostgresLocation) { self.location = location }

  /// - Returns: what is inconsistent in the backup, as it was in the database.
  func restore(_ reader: BackupReader, epoch: NewEpoch, random: (Int) -> [UInt8]) throws -> [Finding] {
    let manifest = reader.manifest
    var findings: [Finding] = []
    guard manifest.format <= PostgresTables.format else {
      throw ServerError(
        .newer, "The backup was taken by a newer Holdfast (format \(manifest.format)). Update this one.")
    }
    _ = try PostgresOpening.open(
      location, schema: manifest.schema, random: random,
      fill: { connection, layout in
        try connection.execute("SET LOCAL holdfast.service = 'on'")
        let tables = try BackupTable.all(of: layout, on: connection)
        // A new database contains initial rows.
        for table in tables { try connection.execute("DELETE FROM \(table.relation)") }
        for (key, value) in History.meta(manifest.epoch, after: manifest.earlier) {
          try connection.run(
            "INSERT INTO holdfast.meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            PostgresParameters(key, value))
        }
        let filler = Filler(tables, connection)
        try reader.read { try filler.take($0) }
        try filler.end()
        try connection.execute(
          """
          SELECT setval(pg_get_serial_sequence('holdfast.devices', 'number'),
            coalesce((SELECT max(d.number) FROM holdfast.devices d), 0) + 1, false)
          """)
        try PostgresCounting(layout: layout, connection: connection).mend()
        _ = try PostgresEpoch.begin(epoch, on: connection)
        findings = try check(manifest.schema, layout, connection)
      })
    return findings
  }

  private func check(_ schema: SyncSchema, _ layout: PostgresLayout, _ connection: PostgresConnection) throws
    -> [Finding]
  {
    // `doctor` checks now what the commit would check later, with clearer messages.
    let known = KnownHistory(
      try PostgresEpoch.history(connection.query(PostgresEpoch.find)), Prover(key: []))
    let open = { () throws(PostgresError) in connection }
    let store = PostgresStore(
      schema, known, layout: layout, lane: .slow, node: "", confirmed: ConfirmedTransactions(),
      openDirectly: open, open: open)
    return try Finding.restorable(PostgresAdministration(store, schema, layout).doctor())
  }
}

/// Receives the content of a backup in portions, and copies each table into the database.
private final class Filler {
  private let tables: [BackupTable]
  private let connection: PostgresConnection
  private var waiting: [UInt8] = []
  private var copy: PostgresTextCopy?

  private static let damaged = ServerError(.damaged, "The backup's content can't be read.")

  init(_ tables: [BackupTable], _ connection: PostgresConnection) {
    (self.tables, self.connection) = (tables, connection)
  }

  func take(_ bytes: UnsafeRawBufferPointer) throws {
    waiting += bytes
    var start = 0
    while waiting.count - start >= 4 {
      let length = waiting[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
      guard waiting.count - start - 4 >= length else { break }
      try take(Array(waiting[(start + 4)..<(start + 4 + length)]))
      start += 4 + length
    }
    waiting.removeFirst(start)
  }

  func end() throws { if copy != nil || !waiting.isEmpty { throw Self.damaged } }

  private func take(_ stretch: [UInt8]) throws {
    if let copy {
      if !stretch.isEmpty { return try copy.send(stretch) }
      try copy.finish()
      return self.copy = nil
    }
    guard let header = try? JSONValue(parsing: stretch), let name = header["table"]?.stringValue,
      let isOwn = header["own"]?.boolValue, let columns = header["columns"]?.elements,
      let table = tables.first(where: { $0.name == name && $0.isOwn == isOwn })
    else { throw Self.damaged }
    let names = columns.compactMap(\.stringValue)
    guard names.count == columns.count, names.allSatisfy(table.columns.contains) else { throw Self.damaged }
    let list = names.map { PostgresName.quoted($0) }.joined(separator: ", ")
    copy = try PostgresTextCopy(connection, "COPY \(table.relation) (\(list)) FROM STDIN")
  }
}
