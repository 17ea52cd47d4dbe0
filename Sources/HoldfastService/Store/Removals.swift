package import HoldfastCore

/// What a server does that starts with a schema which lacks tables or columns of its database.
public enum Removals: Sendable {
  /// It does not start: the file could be the wrong one.
  case refuse
  /// It serves them no more, and keeps the data.
  case allow
}

extension SchemaDifference {
  /// What a server has to do to serve `new` on a database of `old`.
  ///
  /// - Throws: `ServerError.schemaCannotChange`.
  package init(serving new: SyncSchema, after old: SyncSchema, _ removals: Removals) throws(ServerError) {
    do { self = try SchemaDifference(from: old, to: new) } catch {
      throw ServerError(.schemaCannotChange, error.description)
    }
    if removals == .allow || self.removals.isEmpty { return }
    throw ServerError(
      .schemaCannotChange,
      """
      \(self.removals.map { "\($0): The database has this, and the schema does not." }.joined(separator: "\n"))
      To serve it no more, and keep its data until `holdfast schema prune`, start with --allow-removals; `holdfast schema diff` says what that \
      does to whom.
      """)
  }
}
