public import HoldfastCore
import HoldfastService

extension SyncSchema {
  /// The SQL that creates a server database for this schema, for people to read.
  public var serverSQL: String {
    let tables = SQLiteTables(schema: self)
    return SQLiteTables.own + "\n" + self.tables.indices.map { tables.create($0) }.joined()
  }
}
