import HoldfastCore
import HoldfastSQLite

// What the servers refused, and what waits for an answer: each in the file that has it.
extension StoreFolder {
  /// The change sets that the servers refused for good, oldest first; each says its database.
  public func quarantined() async throws -> [QuarantinedChangeSet] {
    try await read { try QuarantinedChangeSet.all(in: $0) }
  }

  /// Writes a change set of the quarantine again, in the file that it is of. See `Store.resend`.
  public func resend(
    _ set: QuarantinedChangeSet,
    amending amend: @escaping @Sendable (inout [QuarantinedOperation]) throws -> Void = { _ in }
  ) async throws {
    let store = try store(of: set)
    try await store.check(set)
    try await store.resend(set.number, amending: amend)
  }

  /// Removes a change set from the quarantine of its file for good. See `Store.discard`.
  public func discard(_ set: QuarantinedChangeSet) async throws {
    let store = try store(of: set)
    try await store.check(set)
    try await store.discard(set.number)
  }

  /// Closes a conflict, in one transaction of the file that has it. See `Database.resolve`.
  public func resolve(_ conflict: Conflict, taking choice: Conflict.Choice) async throws {
    let places = try await places("conflict \(conflict.id)") { local in
      try local.connection.row("SELECT 1 FROM conflicts WHERE \"id\" = ?", [.text(conflict.id)]) != nil
    }
    try await store(at: places).write { try $0.resolve(conflict, taking: choice) }
  }

  private func store(of set: QuarantinedChangeSet) throws -> Store {
    guard let store = set.database.flatMap({ store(of: $0) }) else {
      throw StoreError(
        .recordMissing,
        "The database \(set.database ?? "") is not open, in whose quarantine the change set is. Nothing was written."
      )
    }
    return store
  }
}
