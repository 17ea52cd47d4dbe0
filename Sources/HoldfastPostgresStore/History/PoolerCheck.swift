import HoldfastPostgres
import HoldfastService

/// What a pooler before the database is refused for.
package enum PoolerCheck {
  /// Refuses what a start would.
  package static func require(for location: PostgresLocation) throws {
    if location.direct == nil { return }
    let connection = try location.connectDirectly(.opens)
    defer { connection.close() }
    try require(for: location, over: connection)
  }

  /// Refuses to serve through a pooler without the settings that it needs, or that leads to another database: the nodes would not hear of each
  /// other's changes, and what begins an epoch or changes the schema would do so elsewhere.
  ///
  /// - Parameter connection: to the database itself.
  static func require(for location: PostgresLocation, over connection: PostgresConnection) throws {
    if location.direct == nil { return }
    try PoolerSettings.require(initially: connection)
    let pooled = try PostgresConnection(location.url, options: location.options(.opens))
    defer { pooled.close() }
    guard try PostgresIdentity(pooled).isSame(as: PostgresIdentity(connection)) else {
      throw ServerError(
        .refused,
        """
        --database and --database-direct lead to different databases. Both must lead to the same one: the first through the pooler, the \
        second past it.
        """)
    }
  }
}
