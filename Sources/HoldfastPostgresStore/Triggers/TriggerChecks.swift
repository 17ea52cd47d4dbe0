package import HoldfastCore
import HoldfastService

/// The checks of the triggers.
struct TriggerChecks {
  let tables: TriggerTables

  // MARK: References

  // A reference inside a zone names a record of that zone (I9). The service refuses a change set that would violate this, and the triggers
  // refuse a statement.

  /// The function that fails if one of the records has a reference inside its zone to another zone, or is the target of one. Nil if the
  /// table has no such references. References that decide the zone need no check, because records follow them.
  func checked(_ index: Int) -> String? {
    let (own, others) = (inner(tables.schema.links(of: index)), inner(tables.schema.links(to: index)))
    if own.isEmpty, others.isEmpty { return nil }
    return TriggerFunction.sql(
      "\(tables.function(index, "check"))(ids text[])", returns: "void", settings: tables.keyed,
      declare: tables.isUsers(index) ? ["home text := holdfast.account_home()"] : [],
      own.map { check($0, of: "child") }.joined()
        + others.filter { !own.contains($0) }.map { check($0, of: "parent") }.joined()
        + own.filter { $0.target == index }.map { check($0, of: "parent") }.joined())
  }

  /// The call for written records.
  ///
  /// - Parameter ids: a variable or an expression.
  func check(_ index: Int, _ ids: String, indent: String = "  ") -> String {
    if inner(tables.schema.links(of: index)).isEmpty, inner(tables.schema.links(to: index)).isEmpty {
      return ""
    }
    return "\(indent)PERFORM \(tables.function(index, "check"))(\(ids));\n"
  }

  /// The call for changed records, if one of the changed columns is such a reference.
  func checkChanges(_ index: Int) -> String {
    let links = inner(tables.schema.links(of: index))
    if links.isEmpty { return "" }
    let names = links.map { tables.schema.tables[index].columns[$0.column].name }.joined(separator: "|")
    return """
            PERFORM \(tables.function(index, "check"))(array_agg(u.id)) FROM unnest(ids, names) u (id, columns)
              WHERE u.columns ~ '(^|\\|)(\(names))($|\\|)' HAVING count(*) > 0;

      """
  }

  /// The references inside a zone that do not decide it.
  private func inner(_ links: [SyncSchema.Link]) -> [SyncSchema.Link] {
    links.filter { link in
      guard link.isInZone, let (parent, _) = tables.parent(of: link.table) else { return link.isInZone }
      return parent.column != link.column
    }
  }

  private func check(_ link: SyncSchema.Link, of side: String) -> String {
    let (child, parent) = (tables.zoneSource(link.table), tables.zoneSource(link.target))
    let (table, target) = (tables.relations[link.table], tables.relations[link.target])
    let column = table.columns[link.column]
    let given =
      side == "child"
      ? """
      unnest(ids) s (id) CROSS JOIN LATERAL (SELECT a.* FROM \(table.relation) a
              WHERE a.\(table.id.quoted) = \(table.id.key("s.id")) AND a.\(column.quoted) IS NOT NULL OFFSET 0) t
      """
      : """
      (SELECT a.* FROM \(table.relation) a WHERE a.\(column.quoted) = ANY (\(column.keys("ids"))) OFFSET 0) t
      """
    return """
        IF EXISTS (
          SELECT FROM (
            SELECT \(target.id.key(of: column, "t")) AS target, \(child.zone) AS zone FROM \(given)\(child.joins)
          ) c JOIN LATERAL (
            SELECT \(parent.zone) AS zone FROM (
              SELECT a.* FROM \(target.relation) a WHERE a.\(target.id.quoted) = c.target OFFSET 0) t\(parent.joins)
          ) p ON true WHERE p.zone <> c.zone
        ) THEN
          RAISE EXCEPTION '\(tables.schema.tables[link.table].name).\(column.name) would refer to a record of another zone'
            USING ERRCODE = 'foreign_key_violation',
            HINT = 'Change what refers and what is referred to in one statement; or say "across" in the schema.';
        END IF;

      """
  }

  // MARK: Sets

  /// The check of a statement's rows that a column with the policy `set` contains an array of texts, which apps expect. It is not a
  /// constraint of the table, because the policy of a column may change. Empty for a table without such columns.
  func checkSets(_ index: Int) -> String {
    zip(tables.schema.tables[index].columns, tables.relations[index].columns).filter { $0.0.policy == .set }
      .map { definition, column in
        let value = "n.\(column.quoted)::jsonb"
        return """
            IF EXISTS (SELECT FROM holdfast_new n WHERE jsonb_typeof(\(value)) NOT IN ('array', 'null')
              OR jsonb_path_exists(\(value), 'strict $[*] ? (@.type() != "string")', silent => true)) THEN
              RAISE EXCEPTION '\(tables.schema.tables[index].name).\(definition.name) is a set: it takes a JSON array of texts'
                USING ERRCODE = 'check_violation';
            END IF;

          """
      }.joined()
  }

  // MARK: Servers of an older schema

  // A server continues with its schema when another server adds tables or columns: docs/SCHEMA-CHANGES.md, section 6.

  /// `expect_links(touched, known)` fails if the schema has references to the tables `touched` that are not in `known`. A server with an
  /// older schema deletes or moves records of these tables, and would leave such references dangling. The error is that of a server that is
  /// shutting down, so that the client retries.
  ///
  /// The function contains the schema's references, so it changes in the transaction that adds a reference. The caller has locked the zones
  /// and written the tables, so no new reference to these records can be committed before.
  var expectLinks: String {
    let links = tables.schema.links.map {
      (target: tables.schema.tables[$0.target].name, name: tables.schema.name(of: $0))
    }
    let list = { (texts: [String]) in
      "ARRAY[\(texts.map { PostgresName.literal($0) }.joined(separator: ", "))]::text[]"
    }
    return """
      CREATE OR REPLACE FUNCTION holdfast.expect_links(touched text[], known text[]) RETURNS void LANGUAGE plpgsql VOLATILE
        SET search_path = pg_catalog, pg_temp AS $$
      DECLARE
        missing text;
      BEGIN
        SELECT l.name INTO missing FROM unnest(\(list(links.map(\.target))), \(list(links.map(\.name)))) l (target, name)
          WHERE l.target = ANY (touched) AND l.name <> ALL (known) LIMIT 1;
        IF missing IS NOT NULL THEN
          RAISE EXCEPTION 'this server does not know %, by which others refer to what it deletes or moves', missing
            USING ERRCODE = 'cannot_connect_now', HINT = 'Start it with the schema of the newest server.';
        END IF;
      END $$;

      """
  }
}

extension SyncSchema {
  /// A reference as `table.column`.
  package func name(of link: Link) -> String {
    "\(tables[link.table].name).\(tables[link.table].columns[link.column].name)"
  }
}
