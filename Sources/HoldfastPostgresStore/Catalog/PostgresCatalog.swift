import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// What the catalog of the database says of a table.
struct PostgresCatalog {
  /// A column as the catalog has it.
  struct Column {
    let name: String
    /// The name of the type without its modifiers and its schema, of a domain that of what is under it.
    let base: String
    /// `e` for an enum, `d` for a domain, `b` for others.
    let typeKind: String
    let column: PostgresColumn?
    /// The type as PostgreSQL writes it.
    let type: String
    /// Whether it is computed from others, or numbered by the database.
    let isGenerated: Bool
    let isIdentity: Bool
    let isRequired: Bool
    let defaultExpression: String?
    /// The texts of an enum, in their order.
    let labels: [String]
  }

  /// A foreign key of one column.
  struct Reference {
    let column: String
    let target: String
    let targetColumn: String
    /// `a`, `r`, `c`, `n` or `d`, as `pg_constraint.confdeltype` has it.
    let onDelete: String
  }

  /// The relation, quoted, with its schema.
  let relation: String
  /// `r` for a table, `p` for a partitioned one, `v` for a view, and so on.
  let kind: String
  let isPartition: Bool
  let isOwned: Bool
  /// Whether rules rewrite statements on it.
  let hasRules: Bool
  /// Whether row-level security hides rows of it from the role.
  let hidesRows: Bool
  let columns: [Column]
  let primaryKey: [String]
  /// The columns of unique constraints and indexes besides the primary key.
  let unique: [[String]]
  let references: [Reference]
  /// The triggers of Holdfast that are there and not switched off.
  let triggers: TextSet

  /// Reads a table; nil when there is none.
  ///
  /// - Parameter relation: the name, quoted where it must be; without a schema it is looked for in `search_path`.
  init?(_ relation: String, on connection: PostgresConnection) throws {
    let rows = try connection.query(Self.findTable, PostgresParameters(relation))
    guard !rows.isEmpty else { return nil }
    let number = rows.int64(0, 0)
    self.relation = rows.text(0, 1)
    kind = rows.text(0, 2)
    isPartition = rows.bool(0, 3)
    isOwned = rows.bool(0, 4)
    hasRules = rows.bool(0, 5)
    hidesRows = rows.bool(0, 6)
    let columns = try connection.query(Self.findColumns, PostgresParameters(number))
    self.columns = columns.indices.map { Self.column(columns, $0) }
    let keys = try connection.query(Self.findKeys, PostgresParameters(number))
    primaryKey = keys.indices.first { keys.bool($0, 0) }.map { Self.names(keys.text($0, 1)) } ?? []
    unique = keys.indices.filter { !keys.bool($0, 0) }.map { Self.names(keys.text($0, 1)) }
    let references = try connection.query(Self.findReferences, PostgresParameters(number))
    self.references = references.indices.map {
      Reference(
        column: references.text($0, 0), target: references.text($0, 1), targetColumn: references.text($0, 2),
        onDelete: references.text($0, 3))
    }
    let triggers = try connection.query(Self.findTriggers, PostgresParameters(number))
    self.triggers = TextSet(triggers.indices.map { triggers.text($0, 0) })
  }

  /// The column of this name, or nil.
  func column(_ name: String) -> Column? { columns.first { $0.name == name } }

  /// The table as the triggers and the store take it; nil when a column is not there, or of a type that no value of the schema has.
  func relation(for table: TableSchema, isAdopted: Bool) -> PostgresRelation? {
    guard let id = column("id")?.column else { return nil }
    let columns = table.columns.compactMap { column($0.name)?.column }
    guard columns.count == table.columns.count else { return nil }
    return PostgresRelation(relation: relation, isAdopted: isAdopted, id: id, columns: columns)
  }

  private static func column(_ rows: PostgresRows, _ row: Int) -> Column {
    let (name, base, typeKind) = (rows.text(row, 0), rows.text(row, 1), rows.text(row, 2))
    let (type, filling) = (rows.text(row, 3), rows.optionalText(row, 8))
    let kind = PostgresColumn.Kind(type: base, isEnumeration: typeKind == "e")
    return Column(
      name: name, base: base, typeKind: typeKind,
      column: kind.map {
        PostgresColumn(
          name: name, kind: $0, type: type, collation: rows.optionalText(row, 4), defaultExpression: filling,
          isRequired: rows.bool(row, 7))
      },
      type: type, isGenerated: rows.bool(row, 5), isIdentity: rows.bool(row, 6),
      isRequired: rows.bool(row, 7),
      defaultExpression: filling, labels: names(rows.text(row, 9)))
  }

  /// The names of a list that was joined with line breaks.
  private static func names(_ text: String) -> [String] { text.split(separator: "\n").map(String.init) }

  private static let findTable: PostgresStatement = """
    SELECT c.oid::bigint, format('%I.%I', n.nspname, c.relname), c.relkind::text, c.relispartition OR EXISTS (
        SELECT FROM pg_inherits i WHERE c.oid IN (i.inhrelid, i.inhparent)), pg_has_role(c.relowner, 'USAGE'),
      c.relkind IN ('r', 'p') AND EXISTS (SELECT FROM pg_rewrite w WHERE w.ev_class = c.oid),
      c.relkind IN ('r', 'p') AND row_security_active(c.oid)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass($1)
    """
  private static let findColumns: PostgresStatement = """
    SELECT a.attname::text, coalesce(b.typname, y.typname)::text, coalesce(b.typtype, y.typtype)::text,
      format_type(a.atttypid, a.atttypmod),
      CASE WHEN a.attcollation > 0 THEN CASE WHEN l.collnamespace = 'pg_catalog'::regnamespace THEN quote_ident(l.collname)
        ELSE format('%I.%I', l.collnamespace::regnamespace::text, l.collname) END END,
      a.attgenerated <> '', a.attidentity <> '' OR coalesce(pg_get_expr(d.adbin, d.adrelid), '') LIKE 'nextval(%',
      a.attnotnull, CASE WHEN a.attgenerated = '' THEN pg_get_expr(d.adbin, d.adrelid) END,
      coalesce((SELECT string_agg(e.enumlabel, E'\\n' ORDER BY e.enumsortorder) FROM pg_enum e
        WHERE e.enumtypid = coalesce(b.oid, y.oid)), '')
    FROM pg_attribute a JOIN pg_type y ON y.oid = a.atttypid
    LEFT JOIN pg_type b ON y.typtype = 'd' AND b.oid = y.typbasetype
    LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    LEFT JOIN pg_collation l ON l.oid = a.attcollation
    WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
    """
  private static let findKeys: PostgresStatement = """
    SELECT i.indisprimary, string_agg(a.attname, E'\\n' ORDER BY k.place)
    FROM pg_index i CROSS JOIN unnest(i.indkey::smallint[]) WITH ORDINALITY k (number, place)
    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number
    WHERE i.indrelid = $1 AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
      AND k.place <= i.indnkeyatts
    GROUP BY i.indexrelid, i.indisprimary ORDER BY i.indexrelid
    """
  private static let findReferences: PostgresStatement = """
    SELECT a.attname::text, format('%I.%I', n.nspname, c.relname), f.attname::text, r.confdeltype::text
    FROM pg_constraint r JOIN pg_class c ON c.oid = r.confrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_attribute a ON a.attrelid = r.conrelid AND a.attnum = r.conkey[1]
    JOIN pg_attribute f ON f.attrelid = r.confrelid AND f.attnum = r.confkey[1]
    WHERE r.conrelid = $1 AND r.contype = 'f' AND cardinality(r.conkey) = 1 ORDER BY a.attnum, r.oid
    """
  private static let findTriggers: PostgresStatement = """
    SELECT t.tgname::text FROM pg_trigger t
    WHERE t.tgrelid = $1 AND NOT t.tgisinternal AND t.tgname LIKE 'holdfast\\_%' AND t.tgenabled IN ('O', 'A')
    """
}

extension PostgresColumn.Kind {
  /// The kind of a type by the name that the catalog has for it; nil for a type that no value of the schema has.
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

  /// The type of the schema that holds the same values. A number without limits is a text, as no other holds it exactly.
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

  /// Whether a column of this kind holds values of a type of the schema.
  package func holds(_ type: ColumnType) -> Bool {
    switch type {
    case .reference, .position: columnType == .text && self != .numeric && self != .enumeration
    case .timestamp: columnType == .timestamp || self == .text
    default: columnType == type
    }
  }
}
