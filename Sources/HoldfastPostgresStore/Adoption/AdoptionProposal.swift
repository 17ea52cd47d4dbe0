import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// Proposes a schema for existing tables.
struct AdoptionProposal {
  private let connection: PostgresConnection

  init(_ connection: PostgresConnection) { self.connection = connection }

  /// - Parameter names: the names of the tables; nil for all.
  /// - Throws: `ServerError.notFound`.
  func propose(_ names: [String]?) throws -> Adoption.Proposal {
    var notes: [String] = []
    var found: [(name: String, catalog: PostgresCatalog)] = []
    let names = try names ?? allTables()
    let catalogs = try PostgresCatalog.read(names.map(PostgresName.quoted), on: connection)
    for name in names {
      guard let catalog = catalogs[PostgresName.quoted(name)] else {
        throw ServerError(.notFound, "There is no table \(name) in the schemas of search_path.")
      }
      var obstacles = AdoptionFitness(catalog).obstacles
      if !AdoptionFitness.isGoodName(name) || SchemaCheck.isReserved(table: name) {
        obstacles.append("Its name is none that the devices can take; rename it.")
      }
      if obstacles.isEmpty {
        found.append((name, catalog))
      } else {
        notes += obstacles.map { "\(name) is left out. \($0)" }
      }
    }
    var tables: [TableSchema] = []
    for (name, catalog) in found { tables.append(table(name, catalog, found, &notes)) }
    notes += try AdoptionRules.notes(on: found.map { ($0.name, $0.catalog.relation) }, connection)
    for index in tables.indices { tables[index].zone = zone(of: index, in: tables, &notes) }
    for index in tables.indices { freeOthers(index, &tables, found[index].catalog, &notes) }
    let empty = tables.filter(\.columns.isEmpty).map(\.name)
    notes += empty.map { "\($0) is left out. It has no column that a record can have." }
    tables.removeAll { empty.contains($0.name) }
    if tables.isEmpty {
      throw ServerError(.notFound, (notes + ["No table can be adopted."]).joined(separator: "\n"))
    }
    let database = try connection.query("SELECT current_database()::text").text(0, 0)
    let schema: SyncSchema
    do { schema = try SyncSchema(name: String(database.prefix(16)), tables: tables) } catch {
      throw ServerError(.refused, (notes + [error.description]).joined(separator: "\n"))
    }
    let actions = try ReferentialActions(schema, on: connection) { name in
      found.first { $0.name == name }?.catalog.relation
    }
    notes += actions.faults().map {
      "\($0.place.dropFirst("tables.".count)) can't be adopted as it is. \($0.text)"
    }
    return Adoption.Proposal(text: AdoptionText(schema).text, notes: notes)
  }

  private func allTables() throws(PostgresError) -> [String] {
    let rows = try connection.query(
      """
      SELECT relname::text FROM pg_class WHERE relnamespace = current_schema()::regnamespace
        AND relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT relispartition ORDER BY oid
      """)
    return rows.indices.map { rows.text($0, 0) }
  }

  private func table(
    _ name: String, _ catalog: PostgresCatalog, _ all: [(name: String, catalog: PostgresCatalog)],
    _ notes: inout [String]
  ) -> TableSchema {
    var columns: [ColumnSchema] = []
    for found in catalog.columns where found.name != "id" {
      if let reason = AdoptionFitness.reason(against: found) {
        let warning =
          found.isRequired && found.defaultExpression == nil && !found.isGenerated && !found.isIdentity
          ? " Devices can't make records of \(name), as it is NOT NULL: give it a default." : ""
        notes.append("\(name).\(found.name) is left out: \(reason).\(warning)")
      } else if let column = column(found, of: name, catalog, all, &notes) {
        columns.append(column)
      }
    }
    var unique: [[String]] = []
    for group in catalog.unique {
      if group.allSatisfy({ name in columns.contains { $0.name == name } }) {
        unique.append(group)
      } else {
        notes.append("\(name): \(AdoptionRules.unknown("UNIQUE (\(group.joined(separator: ", ")))"))")
      }
    }
    return TableSchema(name, zone: .root, columns: columns, unique: unique)
  }

  private func column(
    _ found: PostgresCatalog.Column, of table: String, _ catalog: PostgresCatalog,
    _ all: [(name: String, catalog: PostgresCatalog)], _ notes: inout [String]
  ) -> ColumnSchema? {
    guard let place = found.column else { return nil }
    var column = ColumnSchema(found.name, place.kind.columnType)
    column.required = found.isRequired && found.defaultExpression == nil
    switch place.kind {
    case .smallint: (column.minimum, column.maximum) = (Int64(Int16.min), Int64(Int16.max))
    case .integer: (column.minimum, column.maximum) = (Int64(Int32.min), Int64(Int32.max))
    case .uuid: column.maximumLength = 36
    case .enumeration: column.oneOf = found.labels
    case .varchar, .character: column.maximumLength = min(found.length ?? 10000, 1_000_000)
    case .text, .citext: column.maximumLength = 1_000_000
    case .numeric:
      column.maximumLength = 1000
      notes.append(
        "\(table).\(found.name) is \(found.type), which no number of a device holds exactly: it is a text there."
      )
    default: break
    }
    let keys = catalog.references.filter { $0.column == found.name && $0.targetColumn == "id" }
    for key in keys {
      guard let target = all.first(where: { $0.catalog.relation == key.target }) else {
        notes.append(
          "\(table).\(found.name) refers to \(key.target), which is left out: it is a plain value.")
        continue
      }
      guard let action = key.action, !(action == .setNull && found.isRequired) else {
        notes.append(
          "\(table).\(found.name): its ON DELETE can't be kept; it is a plain value, not a reference.")
        continue
      }
      if let reason = AdoptionFitness.reason(againstReference: found) {
        notes.append("\(table).\(found.name) is a plain value, not a reference. \(reason)")
        continue
      }
      if let id = target.catalog.column("id"),
        AdoptionFitness.reach(of: found) < AdoptionFitness.reach(of: id)
      {
        notes.append(
          "\(table).\(found.name) is \(found.type), shorter than the ids of \(target.name): a write with a longer id is refused."
        )
      }
      return ColumnSchema(
        found.name, .reference, required: column.required,
        reference: Reference(to: target.name, onDelete: action))
    }
    if let value = AdoptionDefault.value(of: found.defaultExpression, for: column) {
      column.defaultValue = value
      column.required = found.isRequired
    }
    return column
  }

  /// Changes a restricting foreign key into another zone to a reference that does not restrict deletes.
  private func freeOthers(
    _ index: Int, _ tables: inout [TableSchema], _ catalog: PostgresCatalog, _ notes: inout [String]
  ) {
    for (number, column) in tables[index].columns.enumerated() {
      guard let reference = column.reference, reference.onDelete == .restrict,
        SyncSchema.isAcross(reference, of: tables[index], in: tables)
      else { continue }
      let isRequired = catalog.column(column.name)?.isRequired ?? true
      let onDelete: Reference.OnDelete = isRequired ? .cascade : .setNull
      tables[index].columns[number].reference = Reference(
        to: reference.table, onDelete: onDelete, across: reference.across)
      notes.append(
        "\(tables[index].name).\(column.name) refers to another zone, whose members must always be able to delete: it is \(onDelete.rawValue) here. Its foreign key goes on to hold writers in SQL."
      )
    }
  }

  /// The zone rule of a table: the first required reference decides the zone. Without one, each record is its own zone.
  private func zone(of index: Int, in tables: [TableSchema], _ notes: inout [String]) -> ZoneRule {
    let table = tables[index]
    for column in table.columns where column.required {
      guard let target = column.reference?.table, target != table.name else { continue }
      if column.reference?.onDelete == .setNull || leads(target, to: table.name, in: tables) { continue }
      return .parent(column.name)
    }
    if table.columns.contains(where: { $0.reference != nil }) {
      notes.append(
        "\(table.name) has no reference that is NOT NULL and leads on to another table: each of its records is a zone. Say otherwise in its \"zone\"."
      )
    }
    return .root
  }

  /// Whether the required references of a table lead to another table.
  private func leads(_ start: String, to end: String, in tables: [TableSchema]) -> Bool {
    var seen: TextSet = []
    var waiting = [start]
    while let name = waiting.popLast() {
      if name == end { return true }
      guard seen.insert(name).inserted, let table = tables.first(where: { $0.name == name }) else { continue }
      waiting += table.columns.filter { $0.required && $0.reference?.onDelete != .setNull }
        .compactMap { $0.reference?.table }
    }
    return false
  }
}

/// Column defaults that are constants, which a schema can contain.
enum AdoptionDefault {
  /// The value of an expression such as `false`, `0`, `'todo'::text` or `'{}'::jsonb`; nil for others.
  static func value(of expression: String?, for column: ColumnSchema) -> Value? {
    guard let expression else { return nil }
    let value: Value? =
      switch column.type {
      case .boolean: expression == "true" ? .integer(1) : expression == "false" ? .integer(0) : nil
      // PostgreSQL writes negative numbers as '-1'::integer.
      case .integer: Int64(text(expression) ?? expression).map { .integer($0) }
      case .real: Double(text(expression) ?? expression).map { .real($0) }
      case .text: text(expression).map { .text($0) }
      case .json: text(expression).flatMap(json)
      case .timestamp, .reference, .position: nil
      }
    guard let value, (try? column.check(value)) != nil else { return nil }
    return value
  }

  /// JSON other than null, which no column of a record has.
  private static func json(_ text: String) -> Value? {
    guard let value = try? JSONValue(parsing: Array(text.utf8)), value != .null else { return nil }
    return .text(String(decoding: value.bytes, as: UTF8.self))
  }

  private static func text(_ expression: String) -> String? {
    guard expression.first == "'", let end = expression.lastIndex(of: "'"), end > expression.startIndex else {
      return nil
    }
    let rest = expression[expression.index(after: end)...]
    guard rest.isEmpty || rest.hasPrefix("::") else { return nil }
    let inside = expression[expression.index(after: expression.startIndex)..<end]
    let parts = inside.split(separator: "''", omittingEmptySubsequences: false)
    return parts.contains { $0.contains("'") } ? nil : parts.joined(separator: "'")
  }
}
