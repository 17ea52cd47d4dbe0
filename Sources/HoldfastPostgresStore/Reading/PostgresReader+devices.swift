import HoldfastPostgres
import HoldfastService

/// The devices of users. Both layouts use the same statements.
extension PostgresReader {
  func devices(of user: String, limit: Int) throws -> [ListedDevice] {
    let rows = try connection.query(
      PostgresReadStatements.listDevices, PostgresParameters(user, Int64(limit)))
    return rows.indices.map { row in
      ListedDevice(
        number: rows.int64(row, 0), id: rows.text(row, 1), name: rows.text(row, 2),
        seenAt: rows.int64(row, 3),
        hasSession: rows.bool(row, 4),
        pushToken: rows.optionalText(row, 5).map { PushToken(kind: $0, token: rows.text(row, 6)) })
    }
  }

  func pushTargets(_ audience: PushAudience, after number: Int64, limit: Int) throws -> [PushTarget] {
    let (names, statement) =
      switch audience {
      case .users(let users): (users, PostgresReadStatements.findPushTargets)
      case .followers(let zones): (zones, PostgresReadStatements.findFollowers)
      }
    var parameters = PostgresParameters()
    parameters.append(array: names)
    parameters.append(number)
    parameters.append(Int64(limit))
    let rows = try connection.query(statement, parameters)
    return rows.indices.map { row in
      PushTarget(
        device: rows.int64(row, 0), id: rows.text(row, 1), user: rows.text(row, 2),
        zone: rows.optionalText(row, 3),
        token: PushToken(kind: rows.text(row, 4), token: rows.text(row, 5)))
    }
  }
}
