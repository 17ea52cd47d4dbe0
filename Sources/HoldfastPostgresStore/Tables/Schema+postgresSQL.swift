public import HoldfastCore
import HoldfastService

extension SyncSchema {
  /// The SQL that creates a PostgreSQL database for this schema, for people to read.
  public var postgresSQL: String { PostgresTables(schema: self, namespace: "public").all }
}
