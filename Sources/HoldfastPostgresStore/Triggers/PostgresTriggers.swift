import HoldfastCore
import HoldfastService

/// The SQL for other SQL writers: functions in the schema `holdfast`, and triggers on the schema's tables that call them. docs/POSTGRES.md,
/// section 4.
///
/// Each table has a function that *settles* records: it compares the tables with the ledger, and corrects the ledger. The order of a
/// statement's triggers, and the effects of a team's triggers, do not matter: the last trigger sees the final state. An update of columns,
/// the common case, goes to the ledger without another look at the table.
///
/// The functions run with the privileges of their owner, because writers of the team's tables need none on Holdfast's.
struct PostgresTriggers {
  let tables: TriggerTables

  init(schema: SyncSchema, relations: [PostgresRelation]) {
    tables = TriggerTables(schema: schema, relations: relations)
  }

  /// All functions and triggers.
  var all: String {
    functions + tables.schema.tables.indices.flatMap { triggers(of: $0).map(\.sql) }.joined()
  }

  /// All functions, replacing existing ones.
  var functions: String {
    PostgresTables.newID + "\n" + SharedFunctions.all + LedgerFunctions.all
      + AccessFunction(tables: tables).sql
      + TriggerChecks(tables: tables).expectLinks
      + tables.schema.tables.indices.map { functions(of: $0) }.joined()
  }

  /// The functions of one table.
  func functions(of index: Int) -> String {
    let statements = StatementFunctions(tables: tables)
    return (TriggerChecks(tables: tables).checked(index) ?? "")
      + SettleFunction(tables: tables).sql(of: index)
      + statements.inserted(index) + statements.updated(index) + statements.deleted(index)
      + statements.truncated(index) + (PlacementFunction(tables: tables).sql(of: index) ?? "")
  }

  /// The triggers of one table. They are inactive in the service's transactions, because the service writes the ledger itself.
  func triggers(of index: Int) -> [(name: String, sql: String)] {
    let relation = tables.relations[index].relation
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
    let placement = PlacementFunction(tables: tables)
    if placement.sql(of: index) != nil {
      events.append(("place_insert", "BEFORE INSERT ON \(relation) FOR EACH ROW", "place"))
      events.append(
        ("place_update", "BEFORE UPDATE\(placement.columns(of: index)) ON \(relation) FOR EACH ROW", "place"))
    }
    return events.map { event, clause, purpose in
      (
        "holdfast_\(event)",
        """
        CREATE TRIGGER holdfast_\(event) \(clause)
          WHEN (current_setting('holdfast.service', true) IS DISTINCT FROM 'on')
          EXECUTE FUNCTION \(tables.function(index, purpose))();

        """
      )
    }
  }
}
