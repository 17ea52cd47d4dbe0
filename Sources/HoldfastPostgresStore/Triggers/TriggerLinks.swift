package import HoldfastCore
import HoldfastService

// A server goes on with its schema when another one adds tables or columns: docs/SCHEMA-CHANGES.md, section 6.
extension PostgresTriggers {
  /// `expect_links(touched, known)` fails where records of the tables `touched` are deleted or go to another zone by a server that knows the
  /// references `known` alone, and the schema has others to these tables: what refers by them would be left behind. It fails as a server that is
  /// being stopped, for which a client tries again.
  ///
  /// The function has the schema's references in it, so it changes in the transaction that adds a reference. Who calls it has locked the zones and
  /// written the tables: whatever has come to refer to the records since can't be committed before.
  var expectLinks: String {
    let links = schema.links.map { (target: schema.tables[$0.target].name, name: schema.name(of: $0)) }
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
