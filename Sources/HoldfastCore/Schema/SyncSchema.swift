/// The contract between devices and server: tables, columns, references, zones, policies and roles. An instance is always valid.
public struct SyncSchema: Sendable, Hashable {
  /// A reference column of a table.
  package struct Link: Hashable, Sendable {
    /// The index of the table with the column.
    public let table: Int
    /// The index of the column in that table.
    public let column: Int
    /// The index of the referenced table.
    public let target: Int
    /// The effect of deleting the parent.
    public let onDelete: Reference.OnDelete
    /// Whether both records are always in the same zone.
    public let isInZone: Bool
  }

  private struct Fields: Hashable, Sendable {
    let name: String
    let version: Int64
    let oldestVersion: Int64
    let tables: [TableSchema]
    let links: [Link]
    /// Those of each table.
    let ownLinks: [[Link]]
    let indexes: TextMap<Int>
    let formerIndexes: TextMap<Int>
  }

  /// In one object, as the server copies a schema for each record.
  private let fields: Shared<Fields>

  /// The name of the app or its data.
  public var name: String { fields.value.name }
  /// The version of the schema, as the team numbers it; 0 if not stated.
  public var version: Int64 { fields.value.version }
  /// The oldest schema version whose apps the server serves.
  public var oldestVersion: Int64 { fields.value.oldestVersion }
  /// The app's tables, then `members` and `conflicts`.
  public var tables: [TableSchema] { fields.value.tables }
  /// All reference columns.
  package var links: [Link] { fields.value.links }

  /// Checks the tables and resolves their references.
  ///
  /// - Throws: `SchemaError` with every faulty place and the remedy.
  public init(
    name: String, tables own: [TableSchema], version: Int64 = 0, oldestVersion: Int64 = 0
  ) throws(SchemaError) {
    let own = SchemaCheck.withDefaults(own)
    let tables = own + [.members, .conflicts]
    var faults = SchemaCheck(name: name, tables: own).faults()
    if version < 0 { faults.append(.init("version", "Give a version from 0 on.")) }
    if oldestVersion < 0 || oldestVersion > max(version, 0) {
      faults.append(
        .init(
          "oldest_version", "Give versions from 0 on; the oldest that is served is at most the file's own."))
    }
    guard faults.isEmpty else { throw SchemaError(faults: faults) }
    var indexes: TextMap<Int> = [:]
    var formerIndexes: TextMap<Int> = [:]
    for (index, table) in tables.enumerated() {
      indexes[table.name] = index
      for name in table.was { formerIndexes[name] = index }
    }
    var links: [Link] = []
    for (index, table) in tables.enumerated() {
      for (column, definition) in table.columns.enumerated() {
        guard let reference = definition.reference, let target = indexes[reference.table] else { continue }
        links.append(
          Link(
            table: index, column: column, target: target, onDelete: reference.onDelete ?? .restrict,
            isInZone: !SyncSchema.isAcross(reference, of: table, in: tables)))
      }
    }
    fields = Shared(
      Fields(
        name: name, version: version, oldestVersion: oldestVersion, tables: tables, links: links,
        ownLinks: tables.indices.map { table in links.filter { $0.table == table } }, indexes: indexes,
        formerIndexes: formerIndexes))
  }

  /// The index of a table; nil if unknown.
  public func index(of table: String) -> Int? { fields.value.indexes[table] }

  /// The index of the table with a current or former name; nil if unknown.
  package func index(called table: String) -> Int? {
    fields.value.indexes[table] ?? fields.value.formerIndexes[table]
  }

  /// A table by its name; nil if unknown.
  public func table(_ name: String) -> TableSchema? { index(of: name).map { tables[$0] } }

  /// The references to a table.
  package func links(to table: Int) -> [Link] { links.filter { $0.target == table } }

  /// The references of a table.
  package func links(of table: Int) -> [Link] { fields.value.ownLinks[table] }

  /// The effect on a reference, where it does not restrict a deletion. A restricting reference from another zone neither prevents one nor is
  /// revealed.
  package func unrestricted(_ link: Link) -> Reference.OnDelete {
    if link.onDelete != .restrict { return link.onDelete }
    return tables[link.table].columns[link.column].required ? .cascade : .setNull
  }

  /// The names of the public zones.
  package var publicZones: [String] {
    var names: [String] = []
    for table in tables {
      if case .public(let name) = table.zone, !names.contains(name) { names.append(name) }
    }
    return names
  }

  /// The rule that finally determines the zone of a table's records: its own, or that of its topmost parent.
  package func ground(of table: Int) -> ZoneRule { Self.ground(of: tables[table], in: tables) }

  /// Whether a reference of a table may point into another zone.
  package static func isAcross(_ reference: Reference, of table: TableSchema, in tables: [TableSchema])
    -> Bool
  {
    guard let target = tables.first(where: { $0.name == reference.table }) else { return reference.across }
    return reference.across || ground(of: table, in: tables) != ground(of: target, in: tables)
  }

  /// The rule that finally determines the zone. References between tables with the same rule stay inside a zone.
  private static func ground(of table: TableSchema, in tables: [TableSchema]) -> ZoneRule {
    var table = table
    // The limit ends a cycle of parents.
    for _ in 0...tables.count {
      guard case .parent(let column) = table.zone else { break }
      guard let reference = table.columns.first(where: { $0.name == column })?.reference,
        let parent = tables.first(where: { $0.name == reference.table })
      else { break }
      table = parent
    }
    return table.zone == .root ? .parent(table.name) : table.zone
  }
}

/// An invalid schema: every faulty place, with the remedy.
public struct SchemaError: Error, Hashable, Sendable, CustomStringConvertible {
  /// A fault in a schema.
  public struct Fault: Hashable, Sendable {
    /// The place: `tables.items.columns.list_id.to`.
    public let place: String
    /// The fault and its remedy.
    public let text: String

    /// Creates a fault.
    public init(_ place: String, _ text: String) {
      self.place = place
      self.text = text
    }
  }

  /// All faults, in the order of the schema.
  public let faults: [Fault]

  /// Creates an error.
  public init(faults: [Fault]) { self.faults = faults }

  /// One line for each fault.
  public var description: String { faults.map { "\($0.place): \($0.text)" }.joined(separator: "\n") }
}
