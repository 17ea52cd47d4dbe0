import HoldfastPostgres
import HoldfastSQLite

extension DatabaseLocation {
  /// Why the next server begins a new epoch, as a sentence; nil where it does not. Also while a server runs.
  func whyHistoryWentBack() throws -> String? {
    switch self {
    case .directory(let path):
      let directory = DataDirectory(path: path)
      // The file first: a running server writes it after the database.
      let mark = try SystemHistoryFile(directory).read().flatMap(HistoryMark.init)
      let found = try SQLiteHistory(SQLiteConnection(path: directory.database, access: .readWrite))
      if case .wentBack(let reason) = HistoryVerdict(mark, found) { return reason }
      return nil
    case .postgres(let location):
      let connection = try location.connectDirectly(.opens)
      defer { connection.close() }
      return try PostgresIdentity(connection).difference(connection)
    }
  }
}
