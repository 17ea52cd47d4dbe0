/// Triggers of a team, beside Holdfast's own.
enum TeamTrigger {
  /// An SQL condition: whether the trigger `t` is a team's, and fires. Holdfast's own have names that begin with its own, and its functions.
  static let condition = #"""
    NOT t.tgisinternal AND t.tgenabled <> 'D' AND NOT (t.tgname LIKE 'holdfast\_%' AND EXISTS (
      SELECT FROM pg_proc f WHERE f.oid = t.tgfoid AND f.pronamespace = to_regnamespace('holdfast')))
    """#
}
