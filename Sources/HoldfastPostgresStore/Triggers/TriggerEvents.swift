import HoldfastCore
import HoldfastService

extension PostgresTriggers {
  /// The function behind an INSERT or a COPY.
  package func inserted(_ index: Int) -> String {
    function(
      "\(function(index, "insert"))()", declare: ["ids text[]"],
      """
      \(checkSets(index))\(portions(index, "SELECT \(relations[index].id.id("n")) AS id FROM holdfast_new n"))\(grant(index, "holdfast_new"))  RETURN NULL;
      """)
  }

  /// The function behind a DELETE. Whose membership goes loses the zone.
  package func deleted(_ index: Int) -> String {
    let rows = """
      SELECT \(relations[index].id.id("o")) AS id, \(rowZone(index, "o") ?? "NULL::text") AS zone FROM holdfast_old o
      """
    return function(
      "\(function(index, "delete"))()", declare: Self.buryVariables,
      """
      \(tombstone(index, rows, find(index)))\(grant(index, "holdfast_old"))  RETURN NULL;
      """)
  }

  /// The function behind a TRUNCATE, which has no transition tables: what was there is what the ledger knows.
  func truncated(_ index: Int) -> String {
    let known = """
      SELECT l.id, l.zone FROM holdfast.records l WHERE l.record_table = \(name(index)) AND l.state = 0
      """
    let zones =
      switch schema.tables[index].zone {
      case .explicit: "SELECT DISTINCT a.zone FROM holdfast.access a"
      case .root: "SELECT DISTINCT m.\"group\" FROM holdfast.members m WHERE m.\"group\" IS NOT NULL"
      case .user, .parent, .public, .server: ""
      }
    let granted = zones.isEmpty ? "" : "  PERFORM holdfast.grant_access(ARRAY(\(zones)));\n"
    return function(
      "\(function(index, "truncate"))()", declare: Self.buryVariables,
      """
      \(tombstone(index, known, Self.hold))\(granted)  RETURN NULL;
      """)
  }

  private static let buryVariables = [
    "now bigint := holdfast.now()", "ids text[]", "places text[]", "others text[]",
  ]

  /// Makes tombstones of records that are gone, straight in the ledger. What a trigger of the team has put back meanwhile is settled, and so is what
  /// is not where it should be.
  ///
  /// - Parameters:
  ///   - rows: a query of their `id` and `zone`.
  ///   - find: locks their zones; see `find`.
  private func tombstone(_ index: Int, _ rows: String, _ find: String) -> String {
    let (relation, settle) = (relations[index], function(index, "settle"))
    return """
        FOR ids, places, others IN SELECT array_agg(p.id) FILTER (WHERE NOT p.stands),
            array_agg(p.zone) FILTER (WHERE NOT p.stands), array_agg(p.id) FILTER (WHERE p.stands)
          FROM (
            SELECT s.id, s.zone, row_number() OVER () AS place,
              EXISTS (SELECT FROM \(relation.relation) a WHERE a.\(relation.id.quoted) = \(relation.id.key("s.id"))) AS stands
            FROM (\(rows)) s
          ) p GROUP BY (p.place - 1) / \(Self.portion) LOOP
          IF ids IS NOT NULL THEN
            \(find)
            PERFORM \(settle)(holdfast.tombstone_records(\(name(index)), ids, places, now), true);
          END IF;
          IF others IS NOT NULL THEN
            PERFORM \(settle)(others, true);
          END IF;
        END LOOP;

      """
  }

  private func portions(_ index: Int, _ ids: String) -> String {
    """
      FOR ids IN SELECT array_agg(p.id) FROM (SELECT s.id, row_number() OVER () AS place FROM (\(ids)) s) p
        GROUP BY (p.place - 1) / \(Self.portion) LOOP
        PERFORM \(function(index, "settle"))(ids, true);
      END LOOP;

    """
  }

  /// The function that fills the column `zone` of a row, where there is one, so that its unique groups hold from the first moment; nil where
  /// the writer says the zone. What it can't know yet, as the parent is of the same statement, is put right when the record is settled.
  func placed(_ index: Int) -> String? {
    let relation = relations[index]
    guard relation.hasZone else { return nil }
    let body: String
    var variables: [String] = []
    switch schema.tables[index].zone {
    case .server: return nil
    case .explicit: return member(index)
    case .root: body = "NEW.\"zone\" := NEW.\"id\";"
    case .public(let name): body = "NEW.\"zone\" := '\(name)';"
    case .user:
      body = """
        NEW."zone" := CASE WHEN TG_OP = 'UPDATE' THEN OLD."zone" ELSE holdfast.account_home() END;
          IF NEW."zone" IS NULL THEN
            RAISE EXCEPTION 'it is not said whose record of \(schema.tables[index].name) this is'
              USING ERRCODE = 'foreign_key_violation', HINT = 'Say SET holdfast.account = ''ID'' with an id of holdfast.accounts.';
          END IF;
        """
    case .parent:
      guard let (link, column) = parent(of: index) else { return nil }
      let above = column.id("NEW")
      if isPlain(index) {
        body = "NEW.\"zone\" := \(above);"
      } else {
        variables = ["above text"]
        body = """
          SELECT l.zone INTO above FROM holdfast.records l
              WHERE l.record_table = \(name(link.target)) AND l.id = \(above) AND l.state = 0;
            NEW."zone" := coalesce(above, \(above));
          """
      }
    }
    // It runs for each row: what it sets takes longer than what it does.
    return function(
      "\(function(index, "place"))()",
      settings: variables.isEmpty ? "" : "SET enable_seqscan = off SET plan_cache_mode = force_generic_plan",
      declare: variables, "  \(body)\n  RETURN NEW;")
  }

  /// On which columns a row is placed.
  func placing(_ index: Int) -> String {
    if schema.tables[index].zone == .explicit { return "" }
    return " OF \"id\", \"zone\"" + (parent(of: index).map { ", \($0.column.quoted)" } ?? "")
  }

  /// Completes a membership: either the user or the name is enough. Only its role can change.
  private func member(_ index: Int) -> String {
    function(
      "\(function(index, "place"))()",
      """
        IF TG_OP = 'UPDATE' THEN
          IF (NEW.id, NEW.zone, NEW."user", NEW.name, NEW."group")
            IS DISTINCT FROM (OLD.id, OLD.zone, OLD."user", OLD.name, OLD."group") THEN
            RAISE EXCEPTION 'only the role of a member can change' USING ERRCODE = 'check_violation';
          END IF;
          RETURN NEW;
        END IF;
        IF NEW."group" IS NOT NULL THEN
          IF NEW."user" IS NOT NULL OR NEW.name IS NOT NULL OR NEW."group" = NEW.zone
            OR NOT EXISTS (SELECT FROM holdfast.zones z WHERE z.zone = NEW."group") THEN
            RAISE EXCEPTION 'a group is another zone, without a user'
              USING ERRCODE = 'check_violation', HINT = 'Take a zone of holdfast.zones.';
          END IF;
          RETURN NEW;
        END IF;
        SELECT a.id, a.name INTO NEW."user", NEW.name FROM holdfast.accounts a
          WHERE CASE WHEN NEW."user" IS NOT NULL THEN a.id = NEW."user" ELSE a.name = NEW.name END
          AND a.erasure = 0 FOR KEY SHARE;
        IF NEW."user" IS NULL THEN
          RAISE EXCEPTION 'there is no such user'
            USING ERRCODE = 'foreign_key_violation', HINT = 'Take an id or a name of holdfast.accounts.';
        END IF;
        RETURN NEW;
      """)
  }
}
