import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// A table in the catalog of the database.
struct PostgresCatalog {
  /// A column in the catalog.
  struct Column {
    let name: String
    let column: PostgresColumn?
    /// The type as PostgreSQL formats it: a domain by its own name.
    let type: String
    /// The greatest number of characters, as `varchar(n)` or a domain over it says; nil without one.
    let length: Int?
    /// Whether the column is computed from others. See `isIdentity` for numbering by the database.
    let isGenerated: Bool
    let isIdentity: Bool
    /// Whether the collation takes texts of different bytes for equal.
    let isInexact: Bool
    /// Whether the column or one of its domains is NOT NULL.
    let isRequired: Bool
    /// The default of the column, else that of its domain; nil without one.
    let defaultExpression: String?
    /// The labels of an enum, in order.
    let labels: [String]
  }

  /// A single-column foreign key.
  struct Reference {
    let column: String
    let target: String
    let targetColumn: String
    /// `a`, `r`, `c`, `n` or `d`, as in `pg_constraint.confdeltype`.
    let onDelete: String
  }

  /// The qualified and quoted name.
  let relation: String
  /// `r` for a table, `p` for a partitioned table, `v` for a view, and so on.
  let kind: String
  let isPartition: Bool
  let isOwned: Bool
  /// Whether rules rewrite statements on the table.
  let hasRules: Bool
  /// Whether row-level security hides rows from the current role.
  let hidesRows: Bool
  /// Whether a trigger of the team may change a row before it is written.
  let isRewritten: Bool
  let columns: [Column]
  let primaryKey: [String]
  /// The columns of unique constraints and indexes other than the primary key.
  let unique: [[String]]
  let references: [Reference]
  /// Holdfast's triggers on the table, if they are enabled.
  let triggers: TextSet

  /// Reads a table; nil if it does not exist.
  ///
  /// - Parameter relation: the name, quoted if necessary. A name without a schema is searched in `search_path`.
  init?(_ relation: String, on connection: PostgresConnection) throws {
    guard let catalog = try Self.read([relation], on: connection)[relation] else { return nil }
    self = catalog
  }

  /// Reads tables with five queries in total. Unknown tables are omitted.
  ///
  /// - Parameter relations: the names, as for `init`.
  /// - Returns: the tables by these names.
  static func read(_ relations: [String], on connection: PostgresConnection) throws -> TextMap<
    PostgresCatalog
  > {
    let names = PostgresParameters(array: relations)
    let tables = try connection.query(findTables, names)
    let numbers = PostgresParameters(array: tables.indices.map { tables.int64($0, 0) })
    let columns = try RowsByTable(connection.query(findColumns, numbers))
    let keys = try RowsByTable(connection.query(findKeys, numbers))
    let references = try RowsByTable(connection.query(findReferences, numbers))
    let triggers = try RowsByTable(connection.query(findTriggers, numbers))
    var read: TextMap<PostgresCatalog> = [:]
    for row in tables.indices {
      let number = tables.int64(row, 0)
      read[tables.text(row, 1)] = PostgresCatalog(
        tables, row, columns: columns.map(number, column), keys: keys.map(number, key),
        references: references.map(number, reference), triggers: triggers.map(number) { $0.text($1, 1) })
    }
    return read
  }

  private init(
    _ rows: PostgresRows, _ row: Int, columns: [Column], keys: [(isPrimary: Bool, columns: [String])],
    references: [Reference], triggers: [String]
  ) {
    relation = rows.text(row, 2)
    kind = rows.text(row, 3)
    isPartition = rows.bool(row, 4)
    isOwned = rows.bool(row, 5)
    hasRules = rows.bool(row, 6)
    hidesRows = rows.bool(row, 7)
    isRewritten = rows.bool(row, 8)
    self.columns = columns
    primaryKey = keys.first(where: \.isPrimary)?.columns ?? []
    unique = keys.filter { !$0.isPrimary }.map(\.columns)
    self.references = references
    self.triggers = TextSet(triggers)
  }

  /// The column of this name, or nil.
  func column(_ name: String) -> Column? { columns.first { $0.name == name } }

  /// The table as triggers and store use it; nil if a column is missing or has an unsupported type.
  func relation(for table: TableSchema, isAdopted: Bool) -> PostgresRelation? {
    guard let id = column("id")?.column else { return nil }
    let columns = table.columns.compactMap { column($0.name)?.column }
    guard columns.count == table.columns.count else { return nil }
    return PostgresRelation(
      relation: relation, isAdopted: isAdopted, id: id, columns: columns, isRewritten: isRewritten)
  }

  private static func column(_ rows: PostgresRows, _ row: Int) -> Column {
    let (name, filling) = (rows.text(row, 1), rows.optionalText(row, 9))
    let kind = PostgresColumn.Kind(type: rows.text(row, 2), isEnumeration: rows.text(row, 3) == "e")
    return Column(
      name: name,
      column: kind.map {
        PostgresColumn(
          name: name, kind: $0, type: rows.text(row, 11), collation: rows.optionalText(row, 5),
          defaultExpression: filling, isRequired: rows.bool(row, 8))
      },
      type: rows.text(row, 4), length: rows.optionalInt64(row, 12).map { Int($0) },
      isGenerated: rows.bool(row, 6), isIdentity: rows.bool(row, 7), isInexact: rows.bool(row, 13),
      isRequired: rows.bool(row, 8),
      defaultExpression: filling, labels: labels(rows.optionalText(row, 10)))
  }

  /// The texts of a JSON array. A label may be empty, or have any character in it.
  private static func labels(_ json: String?) -> [String] {
    let array = json.flatMap { try? JSONValue(parsing: Array($0.utf8)) }
    return array?.elements?.compactMap(\.stringValue) ?? []
  }

  private static func key(_ rows: PostgresRows, _ row: Int) -> (isPrimary: Bool, columns: [String]) {
    (rows.bool(row, 1), names(rows.text(row, 2)))
  }

  private static func reference(_ rows: PostgresRows, _ row: Int) -> Reference {
    Reference(
      column: rows.text(row, 1), target: rows.text(row, 2), targetColumn: rows.text(row, 3),
      onDelete: rows.text(row, 4))
  }

  /// Splits a list of names that line breaks join.
  private static func names(_ text: String) -> [String] { text.split(separator: "\n").map(String.init) }

  private static let findTables = PostgresStatement(
    """
    SELECT c.oid::bigint, w.name, format('%I.%I', n.nspname, c.relname), c.relkind::text, c.relispartition OR EXISTS (
        SELECT FROM pg_inherits i WHERE c.oid IN (i.inhrelid, i.inhparent)), pg_has_role(c.relowner, 'USAGE'),
      c.relkind IN ('r', 'p') AND EXISTS (SELECT FROM pg_rewrite w WHERE w.ev_class = c.oid),
      c.relkind IN ('r', 'p') AND row_security_active(c.oid),
      EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid AND t.tgtype & 3 = 3
        AND \(TeamTrigger.condition))
    FROM unnest($1::text[]) w (name) JOIN pg_class c ON c.oid = to_regclass(w.name)
    JOIN pg_namespace n ON n.oid = c.relnamespace
    """)
  /// A domain may be over another domain: the innermost type decides how values are read and written. With the modifier -1, `format_type`
  /// gives names that a cast takes without a limit (`bpchar`, not `character`).
  private static let findColumns: PostgresStatement = """
    SELECT a.attrelid::bigint, a.attname::text, b.typname::text, b.typtype::text, format_type(a.atttypid, a.atttypmod),
      CASE WHEN a.attcollation > 0 THEN CASE WHEN l.collnamespace = 'pg_catalog'::regnamespace THEN quote_ident(l.collname)
        ELSE format('%I.%I', l.collnamespace::regnamespace::text, l.collname) END END,
      a.attgenerated <> '', a.attidentity <> '' OR coalesce(pg_get_expr(d.adbin, d.adrelid), '') LIKE 'nextval(%',
      a.attnotnull OR k.required, CASE WHEN a.attgenerated = ''
        THEN coalesce(pg_get_expr(d.adbin, d.adrelid), pg_get_expr(y.typdefaultbin, 0)) END,
      (SELECT json_agg(e.enumlabel ORDER BY e.enumsortorder)::text FROM pg_enum e WHERE e.enumtypid = b.oid),
      format_type(b.oid, -1),
      CASE WHEN b.typname IN ('varchar', 'bpchar') AND k.modifier > 4 THEN (k.modifier - 4)::bigint END, coalesce(NOT l.collisdeterministic, false)
    FROM pg_attribute a JOIN pg_type y ON y.oid = a.atttypid
    CROSS JOIN LATERAL (
      WITH RECURSIVE layers (type, modifier, required, depth) AS (
        SELECT y.oid, a.atttypmod, false, 0 UNION ALL
        SELECT t.typbasetype, t.typtypmod, t.typnotnull, l.depth + 1
        FROM layers l JOIN pg_type t ON t.oid = l.type WHERE t.typtype = 'd'
      )
      SELECT (array_agg(l.type ORDER BY l.depth DESC))[1] AS base,
        (array_agg(l.modifier ORDER BY l.depth DESC))[1] AS modifier, bool_or(l.required) AS required FROM layers l
    ) k
    JOIN pg_type b ON b.oid = k.base
    LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    LEFT JOIN pg_collation l ON l.oid = a.attcollation
    WHERE a.attrelid = ANY ($1::bigint[]::oid[]) AND a.attnum > 0 AND NOT a.attisdropped
    ORDER BY a.attrelid, a.attnum
    """
  private static let findKeys: PostgresStatement = """
    SELECT i.indrelid::bigint, i.indisprimary, string_agg(a.attname, E'\\n' ORDER BY k.place)
    FROM pg_index i CROSS JOIN unnest(i.indkey::smallint[]) WITH ORDINALITY k (number, place)
    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number
    WHERE i.indrelid = ANY ($1::bigint[]::oid[]) AND i.indisunique AND i.indisvalid AND i.indpred IS NULL
      AND i.indexprs IS NULL AND k.place <= i.indnkeyatts
    GROUP BY i.indrelid, i.indexrelid, i.indisprimary ORDER BY i.indexrelid
    """
  private static let findReferences: PostgresStatement = """
    SELECT r.conrelid::bigint, a.attname::text, format('%I.%I', n.nspname, c.relname), f.attname::text, r.confdeltype::text
    FROM pg_constraint r JOIN pg_class c ON c.oid = r.confrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_attribute a ON a.attrelid = r.conrelid AND a.attnum = r.conkey[1]
    JOIN pg_attribute f ON f.attrelid = r.confrelid AND f.attnum = r.confkey[1]
    WHERE r.conrelid = ANY ($1::bigint[]::oid[]) AND r.contype = 'f' AND cardinality(r.conkey) = 1
    ORDER BY a.attnum, r.oid
    """
  private static let findTriggers: PostgresStatement = """
    SELECT t.tgrelid::bigint, t.tgname::text FROM pg_trigger t
    WHERE t.tgrelid = ANY ($1::bigint[]::oid[]) AND NOT t.tgisinternal AND t.tgname LIKE 'holdfast\\_%'
      AND t.tgenabled IN ('O', 'A')
    """
}

/// The rows of a query over several tables. The first column is the table's number.
private struct RowsByTable {
  private let rows: PostgresRows
  private let places: [Int64: [Int]]

  init(_ rows: PostgresRows) {
    self.rows = rows
    places = Dictionary(grouping: rows.indices) { rows.int64($0, 0) }
  }

  /// Maps the rows of one table, in order.
  func map<Result>(_ table: Int64, _ make: (PostgresRows, Int) -> Result) -> [Result] {
    (places[table] ?? []).map { make(rows, $0) }
  }
}

extension PostgresColumn.Kind {
  /// The kind of a type by its catalog name; nil for an unsupported type.
  package init?(type name: String, isEnumeration: Bool) {
    if isEnumeration {
      self = .enumeration
      return
    }
    switch name {
    case "text": self = .text
    case "varchar": self = .varchar
    case "bpchar": self = .character
    case "citext": self = .citext
    case "uuid": self = .uuid
    case "int2": self = .smallint
    case "int4": self = .integer
    case "int8": self = .bigint
    case "numeric": self = .numeric
    case "float4": self = .real
    case "float8": self = .double
    case "bool": self = .boolean
    case "timestamptz": self = .timestamptz
    case "timestamp": self = .timestamp
    case "date": self = .date
    case "json": self = .json
    case "jsonb": self = .jsonb
    default: return nil
    }
  }

  /// The schema type that holds the same values. It is text for `numeric`, because no number type is exact.
  var columnType: ColumnType {
    switch self {
    case .text, .varchar, .character, .citext, .uuid, .enumeration, .numeric: .text
    case .smallint, .integer, .bigint: .integer
    case .real, .double: .real
    case .boolean: .boolean
    case .timestamptz, .timestamp, .date: .timestamp
    case .json, .jsonb: .json
    }
  }

  /// Whether a column of this kind can hold values of a schema type.
  package func holds(_ type: ColumnType) -> Bool {
    switch type {
    case .reference, .position: columnType == .text && self != .numeric && self != .enumeration
    case .timestamp: columnType == .timestamp || self == .text
    default: columnType == type
    }
  }
}
