import Holdfast

/// Brings the catalogue to what the files say: matches by code, writes only what differs, removes what went.
struct CatalogueImport {
  /// Records in one transaction: one change set, which arrives whole.
  private static let batch = 500

  /// What was done.
  struct Summary: Sendable {
    var created = 0
    var updated = 0
    var deleted = 0
  }

  /// One write that is needed.
  private enum Step: Sendable {
    case create(table: String, id: String, columns: [String: SQLiteValue])
    case update(table: String, id: String, columns: [String: SQLiteValue])
    case delete(table: String, id: String)
  }

  private let store: Store
  private var steps: [Step] = []
  private var deletions: [Step] = []
  /// The ids of all entries, old and new, by table and code.
  private var ids: [String: [String: String]] = [:]
  private(set) var summary = Summary()

  init(store: Store) { self.store = store }

  /// Compares what the files say with the database, and makes a list of what is to be written.
  mutating func prepare(_ tables: [(name: String, entries: [CatalogueEntry])]) async throws {
    for (table, entries) in tables { try await prepare(table, entries) }
    // What refers to others goes before them.
    steps += deletions.reversed()
  }

  private mutating func prepare(_ table: String, _ entries: [CatalogueEntry]) async throws {
    let columns = store.schema.table(table)?.columns.map(\.name) ?? []
    let here = try await store.read { database in
      let list = (["id"] + columns).map { "\"\($0)\"" }.joined(separator: ", ")
      let rows = try database.rows("SELECT \(unsafe: list) FROM \(identifier: table)").rows
      return rows.map { row in
        (id: row[0].text ?? "", values: Dictionary(uniqueKeysWithValues: zip(columns, row.dropFirst())))
      }
    }
    var old: [String: (id: String, values: [String: SQLiteValue])] = [:]
    for row in here { if let code = row.values["code"]?.text { old[code] = row } }
    ids[table] = old.mapValues(\.id)
    for entry in entries {
      let id = old[entry.code]?.id ?? StoreEnvironment.system.newID()
      ids[table, default: [:]][entry.code] = id
      let wanted = values(of: entry, columns)
      guard let before = old.removeValue(forKey: entry.code) else {
        steps.append(.create(table: table, id: id, columns: wanted))
        summary.created += 1
        continue
      }
      let changed = wanted.filter { before.values[$0.key] != $0.value }
      if changed.isEmpty { continue }
      steps.append(.update(table: table, id: id, columns: changed))
      summary.updated += 1
    }
    for (code, row) in old.sorted(by: { $0.key < $1.key }) {
      ids[table]?[code] = nil
      deletions.append(.delete(table: table, id: row.id))
      summary.deleted += 1
    }
  }

  private func values(of entry: CatalogueEntry, _ columns: [String]) -> [String: SQLiteValue] {
    var values: [String: SQLiteValue] = [:]
    for column in columns {
      let text = entry.references[column].map { ids[$0.table]?[$0.code] } ?? entry.texts[column]
      values[column] = text.map { .text($0) } ?? .null
    }
    return values
  }

  /// Writes what `prepare` found, some hundred records at a time.
  ///
  /// - Parameter progress: is told how many of all were written.
  func write(_ progress: (Int, Int) -> Void) async throws {
    for start in stride(from: 0, to: steps.count, by: Self.batch) {
      let part = steps[start..<min(start + Self.batch, steps.count)]
      try await store.write { database in for step in part { try Self.write(step, database) } }
      progress(part.endIndex, steps.count)
    }
  }

  private static func write(_ step: Step, _ database: Database) throws {
    switch step {
    case .create(let table, let id, let columns):
      let names = columns.keys.sorted()
      let list = (["id"] + names).map { "\"\($0)\"" }.joined(separator: ", ")
      let marks = Array(repeating: "?", count: names.count + 1).joined(separator: ", ")
      try database.execute(
        "INSERT INTO \"\(table)\" (\(list)) VALUES (\(marks))",
        [.text(id)] + names.map { columns[$0] ?? .null })
    case .update(let table, let id, let columns):
      let names = columns.keys.sorted()
      let sets = names.map { "\"\($0)\" = ?" }.joined(separator: ", ")
      try database.execute(
        "UPDATE \"\(table)\" SET \(sets) WHERE \"id\" = ?", names.map { columns[$0] ?? .null } + [.text(id)])
    case .delete(let table, let id):
      try database.execute("DELETE FROM \"\(table)\" WHERE \"id\" = ?", [.text(id)])
    }
  }
}
