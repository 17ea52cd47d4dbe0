import HoldfastCore
import HoldfastService

/// How a user's data is taken out.
public enum AccountFormat: String, Sendable {
  /// JSON Lines: all in one file.
  case jsonl
  /// Comma-separated values, a file for each table.
  case csv
}

extension Administration {
  /// How many bytes are written together.
  private static let portion = 1 << 20

  /// Takes out all that a user may read but what is public, as of one moment: docs/EXPORT-AND-ERASURE.md.
  ///
  /// - Parameters:
  ///   - name: the user's.
  ///   - write: is given the name of a file, and bytes to be written to its end.
  /// - Returns: how many records there were.
  /// - Throws: `ServerError.notFound` when there is no such user.
  public func export(
    _ name: String, as format: AccountFormat, _ write: (_ file: String, _ bytes: [UInt8]) throws -> Void
  ) throws -> Int {
    try database.read { store in
      try store.transaction {
        guard let account = try store.account(name) else {
          throw ServerError(.notFound, "There is no user \(name). `holdfast users` lists them.")
        }
        let tables = Array(schema.tables.indices)
        var count = 0
        for table in format == .csv ? tables.map(Optional.some) : [nil] {
          let file = table.map { "\(schema.tables[$0].name).csv" } ?? "account.jsonl"
          let export = AccountExport(schema: schema, user: account.id, tables: table.map { [$0] } ?? tables)
          var lines = ExportLines(schema, table: table)
          try lines.writeHead(of: account.id, store)
          _ = try export.read(store, after: nil) { record in
            lines.write(record)
            count += 1
            if lines.bytes.count >= Self.portion { try write(file, lines.take()) }
            return true
          }
          try write(file, lines.take())
        }
        return count
      }
    }
  }
}
