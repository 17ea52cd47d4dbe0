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
      let difference = try PostgresIdentity(connection).difference(connection)
      return difference.map { .wentBack($0, isForkKnown: true) } ?? .same
    }
  }
}
