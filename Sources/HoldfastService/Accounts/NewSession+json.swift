import HoldfastCore

extension NewSession {
  /// The answer to who signed up, signed in or got a new identity: PROTOCOL.md, section 2.
  package func json(token: String) -> [UInt8] {
    var members: [JSONValue.Member] = [
      .init("user", ["id": .string(user), "name": .string(userName)]),
      .init(
        "device", ["id": .string(device), "name": .string(deviceName), "session": .integer(number)]),
      .init("token", .string(token)),
    ]
    if let applied { members.append(.init("applied", applied.json)) }
    return JSONValue.object(members).bytes
  }
}
