import HoldfastCore
import HoldfastService

/// The function that sets the zone of a row before it is written.
struct PlacementFunction {
  let tables: TriggerTables

  /// The function that sets the column `zone` of a row, so that unique groups are enforced immediately. Nil for a table without the column,
  /// and if the writer sets the zone. If the same statement inserts a parent, settling the record corrects the zone later.
  func sql(of index: Int) -> String? {
    let relation = tables.relations[index]
    guard relation.hasZone else { return nil }
    let body: String
    var variables: [String] = []
    switch tables.schema.tables[index].zone {
    case .server: return nil
    case .explicit: return member(index)
    case .root: body = "NEW.\"zone\" := NEW.\"id\";"
    case .public(let name): body = "NEW.\"zone\" := '\(name)';"
    case .user:
      body = """
        NEW."zone" := CASE WHEN TG_OP = 'UPDATE' THEN OLD."zone" ELSE holdfast.account_home() END;
          IF NEW."zone" IS NULL THEN
            RAISE EXCEPTION 'it is not said whose record of \(tables.schema.tables[index].name) this is'
              USING ERRCODE = 'foreign_key_violation', HINT = 'Say SET holdfast.account = ''ID'' with an id of holdfast.accounts.';
          END IF;
        """
    case .parent:
      guard let (link, column) = tables.parent(of: index) else { return nil }
      let above = column.id("NEW")
      if tables.isPlain(index) {
        body = "NEW.\"zone\" := \(above);"
      } else {
        variables = ["above text"]
        body = """
          SELECT l.zone INTO above FROM holdfast.records l
              WHERE l.record_table = \(tables.name(link.target)) AND l.id = \(above) AND l.state = 0;
            NEW."zone" := coalesce(above, \(above));
          """
      }
    }
    // The function runs for each row, and settings would take longer than its work.
    return TriggerFunction.sql(
      "\(tables.function(index, "place"))()",
      settings: variables.isEmpty ? "" : "SET enable_seqscan = off SET plan_cache_mode = force_generic_plan",
      declare: variables, "  \(body)\n  RETURN NEW;")
  }

  /// The columns whose update requires a new placement, as a clause.
  func columns(of index: Int) -> String {
    if tables.schema.tables[index].zone == .explicit { return "" }
    return " OF \"id\", \"zone\"" + (tables.parent(of: index).map { ", \($0.column.quoted)" } ?? "")
  }

  /// Completes a membership: the user or the name is enough. Only the role can change.
  private func member(_ index: Int) -> String {
    TriggerFunction.sql(
      "\(tables.function(index, "place"))()",
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
