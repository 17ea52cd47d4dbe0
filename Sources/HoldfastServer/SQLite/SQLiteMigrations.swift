import HoldfastCore
import HoldfastSQLite

/// The steps by which Holdfast's own tables came to their form, each with the number of the format that it makes. A new database takes them
/// all; one that stands takes those that it has not had. A step that was released never changes.
enum SQLiteMigrations {
  static let all: [(number: Int64, sql: String)] = [(1, SQLiteTables.own), (2, SQLiteTables.results)]

  /// The format that this version makes and takes.
  static var newest: Int64 { all.last?.number ?? 0 }

  /// Takes the steps behind `format`, in the transaction of `connection`.
  static func run(after format: Int64, on connection: Connection) throws(SQLiteError) {
    for step in all where step.number > format { try connection.execute(step.sql) }
    try connection.execute("PRAGMA user_version = \(newest)")
  }
}

extension SQLiteTables {
  /// What reading needs besides: kept results with their ids in chunks, and what users have lost.
  static let results = """
    CREATE TABLE holdfast_results (
      user TEXT NOT NULL, token_hash BLOB NOT NULL, record_table TEXT NOT NULL, shown TEXT,
      page_size INTEGER NOT NULL, id_count INTEGER NOT NULL, expires INTEGER NOT NULL,
      PRIMARY KEY (user, token_hash)
    ) WITHOUT ROWID;
    CREATE INDEX holdfast_results_of_time ON holdfast_results (expires);
    CREATE TABLE holdfast_result_ids (
      user TEXT NOT NULL, token_hash BLOB NOT NULL, chunk INTEGER NOT NULL, ids TEXT NOT NULL,
      PRIMARY KEY (user, token_hash, chunk)
    );
    ALTER TABLE holdfast_accounts ADD COLUMN losses INTEGER NOT NULL DEFAULT 0;
    """
}
