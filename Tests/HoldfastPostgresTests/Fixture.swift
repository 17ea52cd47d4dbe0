import HoldfastPostgres
import TemporaryPostgres
import Testing

/// A fresh database, and a connection to it.
struct Fixture {
  let url: String
  let connection: PostgresConnection

  init(options: PostgresOptions = PostgresOptions()) throws {
    url = try TemporaryPostgres.shared.makeDatabase()
    connection = try PostgresConnection(url, options: options)
  }

  func count(_ table: String) throws -> Int64 {
    try connection.query(PostgresStatement("SELECT count(*) FROM \(table)")).int64(0, 0)
  }
}

/// The code of the error that `body` throws; nil when it throws none.
func code(_ body: () throws -> Void) -> PostgresError.Code? {
  do {
    try body()
    return nil
  } catch {
    return (error as? PostgresError)?.code
  }
}
