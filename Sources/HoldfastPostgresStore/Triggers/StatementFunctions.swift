import HoldfastCore
import HoldfastService

/// The trigger functions for the statements that write a table.
struct StatementFunctions {
  let tables: TriggerTables
  private var checks: TriggerChecks { TriggerChecks(tables: tables) }
  private var access: AccessFunction { AccessFunction(tables: tables) }

  /// The function for INSERT and COPY.
  func inserted(_ index: Int) -> String {
    TriggerFunction.sql(
      "\(tables.function(index, "insert"))()", declare: ["ids text[]"],
      """
      \(checks.checkSets(index))\(portions(index, "SELECT \(tables.relations[index].id.id("n")) AS id FROM holdfast_new n"))\(access.call(index, "holdfast_new"))  RETURN NULL;
      """)
  }

  /// The function for DELETE. Deleting a membership ends the user's access.
  func deleted(_ index: Int) -> String {
    let rows = """
      SELECT \(tables.relations[index].id.id("o")) AS id, \(tables.rowZone(index, "o") ?? "NULL::text") AS zone FROM holdfast_old o
      """
    return TriggerFunction.sql(
      "\(tables.function(index, "delete"))()", declare: Self.tombstoneVariables,
      """
      \(tombstone(index, rows, tables.find(index)))\(access.call(index, "holdfast_old"))  RETURN NULL;
      """)
  }

  /// The function for TRUNCATE, which has no transition tables: it uses the ledger to find the deleted records. TRUNCATE empties the table
  /// also of records that a snapshot does not have.
  func truncated(_ index: Int) -> String {
    let known = """
      SELECT l.id, l.zone FROM holdfast.records l WHERE l.record_table = \(tables.name(index)) AND l.state = 0
      """
    let zones =
      switch tables.schema.tables[index].zone {
      case .explicit: "SELECT DISTINCT a.zone FROM holdfast.access a"
      case .root: "SELECT DISTINCT m.\"group\" FROM holdfast.members m WHERE m.\"group\" IS NOT NULL"
      case .user, .parent, .public, .server: ""
      }
    let granted = zones.isEmpty ? "" : "  PERFORM holdfast.grant_access(ARRAY(\(zones)));\n"
    return TriggerFunction.sql(
      "\(tables.function(index, "truncate"))()", declare: Self.tombstoneVariables,
      """
        PERFORM holdfast.require_read_committed('TRUNCATE of \(tables.schema.tables[index].name)');
      \(tombstone(index, known, TriggerTables.hold))\(granted)  RETURN NULL;
      """)
  }

  private static let tombstoneVariables = [
    "now bigint := holdfast.now()", "ids text[]", "places text[]", "others text[]",
  ]

  /// Turns deleted records into tombstones, directly in the ledger. Settles records that a team's trigger has inserted again meanwhile, and
  /// those that are not in the expected zone.
  ///
  /// - Parameters:
  ///   - rows: a query of their `id` and `zone`.
  ///   - find: locks their zones; see `TriggerTables.find`.
  private func tombstone(_ index: Int, _ rows: String, _ find: String) -> String {
    let (relation, settle) = (tables.relations[index], tables.function(index, "settle"))
    return """
        FOR ids, places, others IN SELECT array_agg(p.id) FILTER (WHERE NOT p.stands),
            array_agg(p.zone) FILTER (WHERE NOT p.stands), array_agg(p.id) FILTER (WHERE p.stands)
          FROM (
            SELECT s.id, s.zone, row_number() OVER () AS place,
              EXISTS (SELECT FROM \(relation.relation) a WHERE a.\(relation.id.quoted) = \(relation.id.key("s.id"))) AS stands
            FROM (\(rows)) s
          ) p GROUP BY (p.place - 1) / \(TriggerFunction.portion) LOOP
          IF ids IS NOT NULL THEN
            \(find)
            PERFORM \(settle)(holdfast.tombstone_records(\(tables.name(index)), ids, places, now), 'all');
          END IF;
          IF others IS NOT NULL THEN
            PERFORM \(settle)(others, 'all');
          END IF;
        END LOOP;

      """
  }

  private func portions(_ index: Int, _ ids: String) -> String {
    """
      FOR ids IN SELECT array_agg(p.id) FROM (SELECT s.id, row_number() OVER () AS place FROM (\(ids)) s) p
        GROUP BY (p.place - 1) / \(TriggerFunction.portion) LOOP
        PERFORM \(tables.function(index, "settle"))(ids, 'all');
      END LOOP;

    """
  }

  /// The function for UPDATE.
  ///
  /// It compares the rows before and after the statement once, and keeps the differences in arrays, a portion at a time. This query is
  /// dynamic SQL, because a cached plan would suit only the first number of rows. Records with another id or zone, and those that are not
  /// live in the expected zone, are settled.
  func updated(_ index: Int) -> String {
    let settle = tables.function(index, "settle")
    return TriggerFunction.sql(
      "\(tables.function(index, "update"))()",
      declare: [
        "now bigint := holdfast.now()", "ids text[]", "places text[]", "names text[]", "sizes bigint[]",
        "moving text[]",
        "moves text[]", "others text[]", "strays text[]", "gone text[]",
      ],
      """
      \(checks.checkSets(index))  FOR ids, places, names, sizes, moving, moves, others IN EXECUTE $sql$
          SELECT array_agg(c.id) FILTER (WHERE c.kind = 0), array_agg(c.zone) FILTER (WHERE c.kind = 0),
            array_agg(c.columns) FILTER (WHERE c.kind = 0), array_agg(c.size) FILTER (WHERE c.kind = 0),
            array_agg(c.id) FILTER (WHERE c.kind = 1),
            array_agg(c.columns) FILTER (WHERE c.kind = 1), array_agg(c.id) FILTER (WHERE c.kind = 2)
          FROM (SELECT p.*, row_number() OVER () AS place FROM (\(pairs(index))) p) c
          GROUP BY (c.place - 1) / \(TriggerFunction.portion)
        $sql$ LOOP
          IF ids IS NOT NULL THEN
            \(tables.find(index))
            strays := holdfast.change(\(tables.name(index)), ids, places, names, sizes, now);
      \(checks.checkChanges(index))            IF strays IS NOT NULL THEN
              PERFORM \(settle)(strays, 'all');
              gone := gone || strays;
            END IF;
          END IF;
      \(move(index))    IF others IS NOT NULL THEN
            PERFORM \(settle)(others, 'all');
            gone := gone || others;
          END IF;
        END LOOP;
      \(access.call(afterUpdate: index))  RETURN NULL;
      """)
  }

  /// The rows that the statement changed. `kind` is 0 for a change of columns, 1 for another parent, which may move it to another zone, and
  /// 2 for an id that appeared or disappeared. `columns` lists the changed columns with bars between.
  private func pairs(_ index: Int) -> String {
    let relation = tables.relations[index]
    let id = relation.id.quoted
    let names = relation.columns.map { "CASE WHEN \($0.differs("o", "n")) THEN '\($0.name)' END" }
    return """
      SELECT q.* FROM (
            SELECT coalesce(\(relation.id.id("n")), \(relation.id.id("o"))) AS id, \(tables.rowZone(index, "n") ?? "NULL::text") AS zone,
              CASE WHEN n.\(id) IS NULL OR o.\(id) IS NULL THEN 2 \(moves(index).map { "WHEN \($0) THEN 1 " } ?? "")ELSE 0 END AS kind,
              concat_ws('|', \(names.joined(separator: ", "))) AS columns, \(relation.size("n", of: tables.schema.tables[index])) AS size
            FROM holdfast_old o FULL JOIN holdfast_new n ON n.\(id) = o.\(id) OFFSET 0
          ) q WHERE q.columns <> '' OR q.kind > 0
      """
  }

  /// Whether a row may move to another zone; nil if no row can.
  private func moves(_ index: Int) -> String? {
    switch tables.schema.tables[index].zone {
    case .parent: tables.parent(of: index)?.column.differs("o", "n")
    case .explicit, .server: "o.\"zone\" <> n.\"zone\""
    case .root, .user, .public: nil
    }
  }

  /// Stamps the columns of records that may move, and settles them.
  private func move(_ index: Int) -> String {
    if moves(index) == nil { return "" }
    return """
          IF moving IS NOT NULL THEN
            PERFORM holdfast.restamp(\(tables.name(index)), moving, holdfast.locate(\(tables.name(index)), moving), moves, now);
            PERFORM \(tables.function(index, "settle"))(moving, 'stamped');
          END IF;

      """
  }
}
