import HoldfastCore
import HoldfastService

/// The SQL by which writers that go round the server take part: functions in the schema `holdfast`, and triggers of the schema's tables that
/// call them. docs/POSTGRES.md, section 4.
///
/// A table has a function that *settles* records: it compares what stands in the tables with what stands in the ledger, and makes the
/// ledger say the same. Whatever order a statement's triggers run in, and whatever triggers of the team did before, the last one finds the
/// truth. An update of columns, the common case, is written to the ledger without looking at the table again.
///
/// The functions run with the rights of who installed them, as a writer of the team's tables need not know Holdfast's.
struct PostgresTriggers {
  let schema: SyncSchema
  /// One entry for each table of the schema, at its index.
  let relations: [PostgresRelation]

  /// How many records a trigger looks at at once, which bounds its memory.
  static let portion = 1_000_000

  /// All functions and triggers.
  var all: String {
    functions + schema.tables.indices.flatMap { triggers(of: $0).map(\.sql) }.joined()
  }

  /// All functions, replacing those that are there.
  var functions: String {
    Self.shared + Self.ledger + grantAccess + expectLinks
      + schema.tables.indices.map { functions(of: $0) }.joined()
  }

  /// The functions of one table.
  func functions(of index: Int) -> String {
    (checked(index) ?? "") + settle(index) + inserted(index) + updated(index) + deleted(index)
      + truncated(index)
      + (placed(index) ?? "")
  }

  /// The triggers of one table. The service keeps them still, since it writes the ledger itself.
  func triggers(of index: Int) -> [(name: String, sql: String)] {
    let relation = relations[index].relation
    let both = "REFERENCING OLD TABLE AS holdfast_old NEW TABLE AS holdfast_new"
    var events = [
      (
        "insert", "AFTER INSERT ON \(relation) REFERENCING NEW TABLE AS holdfast_new FOR EACH STATEMENT",
        "insert"
      ),
      ("update", "AFTER UPDATE ON \(relation) \(both) FOR EACH STATEMENT", "update"),
      (
        "delete", "AFTER DELETE ON \(relation) REFERENCING OLD TABLE AS holdfast_old FOR EACH STATEMENT",
        "delete"
      ),
      ("truncate", "AFTER TRUNCATE ON \(relation) FOR EACH STATEMENT", "truncate"),
    ]
    if placed(index) != nil {
      events.append(("place_insert", "BEFORE INSERT ON \(relation) FOR EACH ROW", "place"))
      events.append(("place_update", "BEFORE UPDATE\(placing(index)) ON \(relation) FOR EACH ROW", "place"))
    }
    return events.map { event, clause, purpose in
      (
        "holdfast_\(event)",
        """
        CREATE TRIGGER holdfast_\(event) \(clause)
          WHEN (current_setting('holdfast.service', true) IS DISTINCT FROM 'on')
          EXECUTE FUNCTION \(function(index, purpose))();

        """
      )
    }
  }

  /// The name of a function of a table, quoted, with its schema.
  func function(_ index: Int, _ purpose: String) -> String {
    "holdfast." + PostgresName.made(schema.tables[index].name, purpose)
  }

  /// The name of a table of the schema as a literal.
  func name(_ index: Int) -> String { "'\(schema.tables[index].name)'" }

  /// Settings of functions that gather what a statement did. Rows before and after it are put together by hashing, whatever their number.
  static let gathering = """
    SET plan_cache_mode = force_custom_plan SET enable_mergejoin = off SET jit = off SET work_mem = '128MB'
    """

  /// A function in plpgsql. A name that both a variable and a column of a table have is the variable's: columns are named with their tables.
  ///
  /// - Parameter settings: what the planner may take; see `keyed`.
  func function(
    _ name: String, returns: String = "trigger", settings: String = gathering, declare: [String] = [],
    _ body: String
  ) -> String {
    """
    CREATE OR REPLACE FUNCTION \(name) RETURNS \(returns) LANGUAGE plpgsql SECURITY DEFINER
      SET search_path = pg_catalog, pg_temp \(settings)
    AS $holdfast$
    #variable_conflict use_variable
    \(declare.isEmpty ? "" : "DECLARE\n  " + declare.map { $0 + ";" }.joined(separator: "\n  ") + "\n")BEGIN
    \(body)
    END $holdfast$;

    """
  }
}
