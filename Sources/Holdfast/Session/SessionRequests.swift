import HoldfastCore
import HoldfastSQLite

/// The requests that begin a session.
package struct SessionRequests {
  let database: LocalDatabase

  package init(database: LocalDatabase) { self.database = database }

  /// The request of a sign-up (`v1/accounts`) or a sign-in (`v1/sessions`).
  ///
  /// - Throws: `StoreError.otherUser` when the database has another user's data; for a sign-up, when it has any user's, as a new account is another
  ///   user also where it has the same name.
  package func request(
    _ path: String, name: String, password: String, device: String
  ) throws -> TransportRequest {
    let state = try database.state()
    // A seed for somebody else is left behind at the sign-in.
    if state.device != nil, let user = state.user, path == "v1/accounts" || (state.name ?? name) != name {
      throw Self.otherUser(state.name ?? user)
    }
    let continued = path == "v1/sessions" ? state.device : nil
    let body = JSONValue.object([
      .init("name", .string(name)), .init("password", .string(password)),
      .init("device", sessionDevice(device, continued, state.session)),
    ])
    return TransportRequest(method: "POST", path: path, body: body.bytes)
  }

  /// The request of a sign-in with the token of an identity provider. Whose it is, only the server can tell.
  package func request(token: String, device: String) throws -> TransportRequest {
    let state = try database.state()
    let body = JSONValue.object([
      .init("token", .string(token)), .init("device", sessionDevice(device, state.device, state.session)),
    ])
    return TransportRequest(method: "POST", path: "v1/sessions", body: body.bytes)
  }

  /// The request of a sign-in as a guest, with a pass of the user's home.
  func request(pass: String, device: String) throws -> TransportRequest {
    let state = try database.state()
    let body = JSONValue.object([
      .init("pass", .string(pass)), .init("device", sessionDevice(device, state.device, state.session)),
    ])
    return TransportRequest(method: "POST", path: "v1/sessions", body: body.bytes)
  }

  /// What a sign-in says of the device: one that was signed in before goes on itself, with its numbers.
  private func sessionDevice(_ name: String, _ known: String?, _ session: Int64) -> JSONValue {
    var members: [JSONValue.Member] = [.init("name", .string(name))]
    if let known {
      members.append(.init("id", .string(known)))
      if session > 0 { members.append(.init("session", .integer(session))) }
    }
    return .object(members)
  }

  static func otherUser(_ known: String) -> StoreError {
    StoreError(
      .otherUser,
      "This database belongs to \(known). Sign in as \(known), or use another file: the records of this one can be imported into it."
    )
  }
}
