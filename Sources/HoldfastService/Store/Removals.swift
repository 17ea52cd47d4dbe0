package import HoldfastCore

/// How a server starts if the schema lacks tables or columns of its database.
public enum Removals: Sendable {
  /// The server does not start: the schema file may be the wrong one.
  case refuse
  /// The server no longer serves these tables and columns, and keeps their data.
  case allow
}

extension SchemaDifference {
  /// The changes that a database of schema `old` needs to serve schema `new`.
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
