import HoldfastCore
import HoldfastService

/// Which devices an operator means.
public enum DeviceSelection: Sendable, Equatable {
  /// The one of an id.
  case device(String)
  /// Those of the user of a name.
  case user(String)
  case all
}

extension Administration {
  /// All devices, with what they have not got yet.
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
  /// - Parameter zone: the only zone concerned; nil for all.
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
    return try chosen.reduce(0) { try $0 + operators.reset($1, zone: zone) }
  }
}
