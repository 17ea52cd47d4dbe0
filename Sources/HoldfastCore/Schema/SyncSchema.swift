/// The contract between the devices and the server: tables, columns, references, zones, policies and roles. Checked.
public struct SyncSchema: Sendable, Hashable {
  /// A reference column of a table, seen from the table it points to.
  public struct Link: Hashable, Sendable {
    /// The index of the table that has the column.
    public let table: Int
    /// The index of the column in it.
    public let column: Int
    /// The index of the table that the column points to.
    public let target: Int
    /// What the end of the parent does.
    public let onDelete: Reference.OnDelete
    /// Whether both records are always in one zone.
    public let isInZone: Bool
  }

  /// The name of the app or of its data.
  public let name: String
  /// Which version of the schema it is, as the team counts them; 0 for one that does not say.
  public let version: Int64
  /// The oldest version whose apps the server still serves.
  public let oldestVersion: Int64
  /// The tables of the app, then `members` and `conflicts`.
  public let tables: [TableSchema]
  /// All reference columns.
  public let links: [Link]

  private let indexes: TextMap<Int>
  private let formerIndexes: TextMap<Int>

  /// Checks tables and binds them together.
  ///
  /// - Throws: `SchemaError`, which names every offending place and says what to do.
  public init(
    name: String, tables own: [TableSchema], version: Int64 = 0, oldestVersion: Int64 = 0
  ) throws(SchemaError) {
    let own = SchemaCheck.withDefaults(own)
    let tables = own + [.members, .conflicts]
    var faults = SchemaCheck(name: name, tables: own).faults()
    if version < 0 || oldestVersion < 0 || oldestVersion > version {
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
    self.name = name
    self.version = version
    self.oldestVersion = oldestVersion
    self.tables = tables
    self.indexes = indexes
    self.formerIndexes = formerIndexes
    self.links = links
  }

  /// The index of a table, or nil.
  public func index(of table: String) -> Int? { indexes[table] }

  /// The index of the table that has a name, or had it before; nil when there is none.
  public func index(called table: String) -> Int? { indexes[table] ?? formerIndexes[table] }

  /// A table by its name, or nil.
  public func table(_ name: String) -> TableSchema? { indexes[name].map { tables[$0] } }

  /// The references that point to a table.
  public func links(to table: Int) -> [Link] { links.filter { $0.target == table } }

  /// The references that a table has.
  public func links(of table: Int) -> [Link] { links.filter { $0.table == table } }

  /// The names of the public zones.
  public var publicZones: [String] {
    var names: [String] = []
    for table in tables {
      if case .public(let name) = table.zone, !names.contains(name) { names.append(name) }
    }
    return names
  }

  /// What decides the zone of a table's records in the end: its own rule, or that of the table above it.
  package func ground(of table: Int) -> ZoneRule { Self.ground(of: tables[table], in: tables) }

  /// Whether a reference of a table may name a record of another zone.
  package static func isAcross(_ reference: Reference, of table: TableSchema, in tables: [TableSchema])
    -> Bool
  {
    guard let target = tables.first(where: { $0.name == reference.table }) else { return reference.across }
    return reference.across || ground(of: table, in: tables) != ground(of: target, in: tables)
  }

  /// What decides the zone in the end: two tables with the same ground refer to each other inside a zone.
  private static func ground(of table: TableSchema, in tables: [TableSchema]) -> ZoneRule {
    var table = table
    // Of parents that go round in a circle there is no end.
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

/// A schema that does not hold together: every offending place, and what to do.
public struct SchemaError: Error, Hashable, Sendable, CustomStringConvertible {
  /// One thing that is wrong.
  public struct Fault: Hashable, Sendable {
    /// Where: `tables.items.columns.list_id.to`.
    public let place: String
    /// What is wrong there and what to do.
    public let text: String

    /// A fault of its parts.
    public init(_ place: String, _ text: String) {
      self.place = place
      self.text = text
    }
  }

  /// All that is wrong, in the order of the schema.
  public let faults: [Fault]

  /// An error of its faults.
  public init(faults: [Fault]) { self.faults = faults }

  /// A line for each fault.
  public var description: String { faults.map { "\($0.place): \($0.text)" }.joined(separator: "\n") }
}
