/// The form of the functions in plpgsql that the triggers are made of.
enum TriggerFunction {
  /// How many records a trigger looks at at once, which bounds its memory.
  static let portion = 1_000_000

  /// Settings of functions that gather what a statement did. Rows before and after it are put together by hashing, whatever their number.
  static let gathering = """
    SET plan_cache_mode = force_custom_plan SET enable_mergejoin = off SET jit = off SET work_mem = '128MB'
    """

  /// A function in plpgsql. A name that both a variable and a column of a table have is the variable's: columns are named with their tables.
  ///
  /// - Parameter settings: what the planner may take; see `TriggerTables.keyed`.
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
