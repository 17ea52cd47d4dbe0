import HoldfastPostgres
import HoldfastPostgresStore
import HoldfastSQLite
import HoldfastSQLiteStore
import HoldfastService

extension DatabaseLocation {
  /// Whether the next start of a server will begin a new epoch. Works while a server runs.
  func historyVerdict() throws -> HistoryVerdict {
    switch self {
    case .directory(let path):
      let directory = DataDirectory(path: path)
      // The file is read first, because a running server writes it after the database.
      let mark = try SystemHistoryFile(directory).read().flatMap(HistoryMark.init)
      let found = try SQLiteHistory(SQLiteConnection(path: directory.database, access: .readWrite))
      return HistoryVerdict(mark, found)
    case .postgres(let location):
      let connection = try location.connectDirectly(.opens)
      defer { connection.close() }
      // A standby is the database of its primary, in all that it has received.
      if try connection.query("SELECT pg_is_in_recovery()").bool(0, 0) { return .same }
      let difference = try PostgresIdentity(connection).difference(connection)
      return difference.map { .wentBack($0.text, isForkKnown: $0.isForkKnown) } ?? .same
    }
  }
}
