import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// The actions of foreign keys (`ON DELETE`, `ON UPDATE`) that change tables of the schema in the service's transactions, and that the schema
/// does not name. The triggers are inactive there, so no device would be sent the change (I4, I7).
///
/// An action may also reach a table through tables that are not in the schema. So it begins with the tables that the service writes, and
/// follows the actions from table to table.
struct ReferentialActions {
  /// A foreign key with an action that writes.
  private struct Key {
    let name: String
    /// The tables, qualified and quoted. `child` has the foreign key.
    let (child, parent): (String, String)
    /// `c`, `n` or `d`, as in `pg_constraint`; `a` or `r` if that action writes nothing.
    let (onDelete, onUpdate): (String, String)
    /// Whether the key of a partitioned table has made it, which is also listed.
    let isInherited: Bool
    /// The columns of the child, and those of the parent.
    let (columns, targets): ([String], [String])
    let definition: String

    var deletes: Bool { onDelete == "c" }

    static func writes(_ action: String) -> Bool { ["c", "n", "d"].contains(action) }
  }

  /// What a transaction of the service may do to a table.
  private struct Reach {
    var isDeleted: Bool
    var changed: TextSet
    /// Of a table that the service writes: the columns that it does not change; nil for another table.
    var kept: TextSet?

    func changes(_ columns: [String]) -> Bool {
      columns.contains { name in kept.map { !$0.contains(name) } ?? changed.contains(name) }
    }

    func acts(_ key: Key) -> (delete: Bool, update: Bool) {
      (isDeleted && Key.writes(key.onDelete), Key.writes(key.onUpdate) && changes(key.targets))
    }
  }

  private static let findKeys: PostgresStatement = """
    SELECT k.conname::text, format('%I.%I', c.relnamespace::regnamespace::text, c.relname),
      format('%I.%I', p.relnamespace::regnamespace::text, p.relname), k.confdeltype::text, k.confupdtype::text, k.conparentid <> 0,
      (SELECT string_agg(a.attname, E'\\n' ORDER BY n.place) FROM unnest(k.conkey) WITH ORDINALITY n (number, place)
        JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = n.number),
      (SELECT string_agg(a.attname, E'\\n' ORDER BY n.place) FROM unnest(k.confkey) WITH ORDINALITY n (number, place)
        JOIN pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = n.number),
      pg_get_constraintdef(k.oid)
    FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_class p ON p.oid = k.confrelid
    WHERE k.contype = 'f' AND (k.confdeltype IN ('c', 'n', 'd') OR k.confupdtype IN ('c', 'n', 'd')) ORDER BY 2, 1
    """
  /// The tables `$1` and Holdfast's own, with the columns of their primary keys: the service changes no others of a row that stays.
  private static let findWritten: PostgresStatement = """
    SELECT format('%I.%I', c.relnamespace::regnamespace::text, c.relname), (
      SELECT string_agg(a.attname, E'\\n') FROM pg_index i
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey::smallint[]) WHERE i.indrelid = c.oid AND i.indisprimary)
    FROM pg_class c WHERE c.relkind IN ('r', 'p')
      AND (c.oid = ANY (ARRAY(SELECT to_regclass(n)::oid FROM unnest($1::text[]) n)) OR c.relnamespace = to_regnamespace('holdfast'))
    """

  private let schema: SyncSchema
  /// The relations of the schema's tables, qualified and quoted; nil where there is none.
  private let relations: [String?]
  private let keys: [Key]
  private var reach: TextMap<Reach> = [:]

  /// Reads the foreign keys of the database.
  ///
  /// - Parameter relation: returns the relation of a table of the schema, qualified and quoted.
  init(_ schema: SyncSchema, on connection: PostgresConnection, _ relation: (String) -> String?) throws {
    self.schema = schema
    relations = schema.tables.map { relation($0.name) }
    let rows = try connection.query(Self.findKeys)
    keys = rows.indices.map { row in
      Key(
        name: rows.text(row, 0), child: rows.text(row, 1), parent: rows.text(row, 2),
        onDelete: rows.text(row, 3), onUpdate: rows.text(row, 4), isInherited: rows.bool(row, 5),
        columns: Self.names(rows.text(row, 6)), targets: Self.names(rows.text(row, 7)),
        definition: rows.text(row, 8))
    }
    let written = try connection.query(
      Self.findWritten, PostgresParameters(array: relations.compactMap { $0 }))
    for row in written.indices {
      let kept = TextSet(Self.names(written.optionalText(row, 1) ?? ""))
      reach[written.text(row, 0)] = Reach(isDeleted: true, changed: [], kept: kept)
    }
    follow()
  }

  /// Those of the tables of a layout.
  init(_ schema: SyncSchema, _ layout: PostgresLayout, on connection: PostgresConnection) throws {
    let names = TextMap(layout.relations.map { ($0.table, $0.name) })
    try self.init(schema, on: connection) { names[$0] }
  }

  private static func names(_ text: String) -> [String] { text.split(separator: "\n").map(String.init) }

  /// Follows the actions into tables that the service does not write itself, until nothing is added.
  private mutating func follow() {
    var isGrowing = true
    while isGrowing {
      isGrowing = false
      for key in keys {
        guard let parent = reach[key.parent] else { continue }
        let acts = parent.acts(key)
        if !acts.delete && !acts.update { continue }
        var child = reach[key.child] ?? Reach(isDeleted: false, changed: [])
        if child.kept != nil { continue }
        let before = (child.isDeleted, child.changed)
        if acts.delete, key.deletes { child.isDeleted = true }
        if acts.update || !key.deletes { child.changed.formUnion(key.columns) }
        if before != (child.isDeleted, child.changed) { isGrowing = true }
        reach[key.child] = child
      }
    }
  }

  /// The tables that are not written by the service, and that its writes reach through actions; qualified and quoted.
  var reached: [String] { reach.filter { $0.value.kept == nil }.map(\.key).sorted() }

  /// The tables of the schema, with the columns that decide where a record is: its id, and the reference to its parent.
  var written: [(relation: String, place: [String])] {
    zip(schema.tables, relations).compactMap { table, relation in
      guard let relation, !table.isBuiltIn else { return nil }
      return (relation, ["id"] + (table.parentColumn.map { [table.columns[$0].name] } ?? []))
    }
  }

  /// The foreign keys whose actions change records of tables of the schema, each with what to do.
  ///
  /// - Parameter tables: which of the schema's tables count.
  func faults(of tables: (TableSchema) -> Bool = { _ in true }) -> [SchemaError.Fault] {
    schema.tables.indices.filter { !schema.tables[$0].isBuiltIn && tables(schema.tables[$0]) }.flatMap {
      index in
      keys.filter { !$0.isInherited && $0.child == relations[index] }.compactMap { fault($0, of: index) }
    }
  }

  private func fault(_ key: Key, of index: Int) -> SchemaError.Fault? {
    guard let parent = reach[key.parent] else { return nil }
    let acts = parent.acts(key)
    let table = schema.tables[index]
    // Devices have only columns of the schema.
    let isVisible = key.columns.contains { table.index(of: $0) != nil }
    let deletes = acts.delete && (key.deletes || isVisible) && !isNamed(key, of: index)
    let updates = acts.update && isVisible
    if !deletes && !updates { return nil }
    let clauses =
      (deletes ? [Self.clause("ON DELETE", key.onDelete)] : [])
      + (updates ? [Self.clause("ON UPDATE", key.onUpdate)] : [])
    let definition = clauses.reduce(key.definition) { definition, clause in
      definition.replacing(" " + clause, with: "", maxReplacements: 1)
    }
    let name = PostgresName.quoted(key.name)
    return .init(
      "tables.\(table.name)",
      """
      The foreign key \(key.name) changes records itself (\(clauses.joined(separator: ", "))) when the service deletes or changes a row of \
      \(key.parent), and no device would be sent that. Only a reference of one column to id, with the ON DELETE that the schema says, is \
      kept. Leave the action to the program that writes: ALTER TABLE \(key.child) DROP CONSTRAINT \(name), ADD CONSTRAINT \(name) \
      \(definition)
      """)
  }

  /// Whether the service itself does what the foreign key does at a delete, before it: it is that of a reference of the schema, or has such a
  /// reference among its columns and deletes the same records.
  private func isNamed(_ key: Key, of index: Int) -> Bool {
    schema.links(of: index).contains { link in
      guard relations[link.target] == key.parent,
        let reference = schema.tables[index].columns[link.column].reference
      else { return false }
      let column = schema.tables[index].columns[link.column].name
      guard zip(key.columns, key.targets).contains(where: { $0 == column && $1 == "id" }) else {
        return false
      }
      switch reference.onDelete {
      case .cascade: return key.deletes
      case .setNull: return key.onDelete == "n" && key.columns.count == 1
      case .restrict, nil: return false
      }
    }
  }

  private static func clause(_ event: String, _ action: String) -> String {
    switch action {
    case "c": event + " CASCADE"
    case "n": event + " SET NULL"
    default: event + " SET DEFAULT"
    }
  }
}
