import HoldfastCore
import HoldfastService

/// The devices that an operator selects.
public enum DeviceSelection: Sendable, Equatable {
  /// The device with an id.
  case device(String)
  /// The devices of the user with a name.
  case user(String)
  case all
}

extension Administration {
  /// The number of devices that one transaction resets.
  private static let resetSize = 500

  /// Lists all devices, with the zones and changes that each still lacks.
  public func devices() throws -> Listing {
    let lags = TextMap(
      try database.read { try $0.lag(of: nil) }.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    let rows = try operators.devices().map { row in
      let lag = lags[row[0]]
      let client = lag?.client
      return row + [
        client?.app ?? "", client?.schema ?? "", String(lag?.zones ?? 0), String(lag?.behind ?? 0),
        String(lag?.changes ?? 0),
      ]
    }
    return Listing(
      columns: [
        "device", "user", "name", "signed in", "operations", "last seen", "app", "schema", "zones", "behind",
        "changes",
      ], rows: rows)
  }

  /// Has devices resync their zones, with their edits kept, at their next sync: docs/RETENTION.md, section 4.
  ///
  /// - Parameters:
  ///   - selection: which devices.
  ///   - zone: the only zone concerned; nil for all.
  /// - Returns: how many zones of devices that are. One of which a device has nothing needs no reset.
  /// - Throws: `ServerError.notFound` when there is no such device or user.
  @discardableResult
  public func reset(_ selection: DeviceSelection, zone: String?) throws -> Int {
    var user: String?
    if case .user(let name) = selection {
      user = try operators.store.accounts.id(ofName: name)
      if user == nil {
        throw ServerError(.notFound, "There is no user \(name). `holdfast users` lists them.")
      }
    }
    let devices = try database.read { try $0.lag(of: user) }.map(\.id)
    let chosen: [String]
    if case .device(let id) = selection {
      chosen = devices.filter { $0 == id }
      if chosen.isEmpty {
        throw ServerError(.notFound, "There is no device \(id). `holdfast devices` lists them.")
      }
    } else {
      chosen = devices
    }
    // Writers run between the parts.
    return try stride(from: 0, to: chosen.count, by: Self.resetSize).reduce(0) { sum, first in
      try change(.reset) { _, _, audited in
        let part = chosen[first..<min(first + Self.resetSize, chosen.count)]
        let count = try part.reduce(0) { try $0 + operators.reset($1, zone: zone) }
        let target = chosen.count == 1 ? chosen[0] : user ?? "all devices"
        let scope = zone.map { "zone \($0)" } ?? "all zones"
        audited = Audited(target: target, detail: "\(scope); \(count) to fetch again")
        return sum + count
      }
    }
  }
}

/// The format of an export.
public enum AccountFormat: String, Sendable {
  /// JSON Lines, in one file.
  case jsonl
  /// Comma-separated values, one file per table.
  case csv
}

extension Administration {
  /// The size in bytes from which buffered output is written.
  private static let portion = 1 << 20

  /// Takes out all that a user may read but what is public, as of one moment: docs/EXPORT-AND-ERASURE.md.
  ///
  /// - Parameters:
  ///   - name: the user's.
  ///   - format: the form of the files.
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
