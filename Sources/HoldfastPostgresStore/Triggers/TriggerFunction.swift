/// The common form of the triggers' plpgsql functions.
enum TriggerFunction {
  /// The maximum number of records that a trigger processes at once, to bound its memory.
  static let portion = 1_000_000

  /// The settings of functions that collect a statement's changes. Rows before and after it are joined by hash, for any number of rows.
  static let gathering = """
    SET row_security = off SET plan_cache_mode = force_custom_plan SET enable_mergejoin = off SET jit = off SET work_mem = '128MB'
    """

  /// A plpgsql function. An ambiguous name means the variable; columns are qualified with their tables.
  ///
  /// - Parameter settings: the planner's, and `row_security = off` where records are read: one that is hidden is not deleted; see `TriggerTables.keyed`.
  static func sql(
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
