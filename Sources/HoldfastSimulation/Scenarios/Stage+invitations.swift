import Holdfast
import HoldfastCore

/// An invitation to a list, as the one who made it sees it.
struct HeardInvitation {
  let id: String
  let token: String
}

/// What takes a connection, and is asked for beside syncing.
extension Stage {
  /// Sends a request of a device's user, once.
  ///
  /// - Returns: what came of it, also when its answer is lost or late: then nothing.
  @discardableResult
  func ask(_ number: Int, _ method: String, _ path: String, _ body: JSONValue? = nil) -> Inquiry {
    let inquiry = begin(number, method, path, body)
    // An app waits for so long.
    let end = world.now + 31_000
    while inquiry.answer == nil, world.now < end, let next = world.timeline.nextTime, next <= end,
      world.oracle.violations.isEmpty
    { pass(next - world.now) }
    return inquiry
  }

  /// The same, without waiting.
  @discardableResult
  func begin(_ number: Int, _ method: String, _ path: String, _ body: JSONValue? = nil) -> Inquiry {
    let (device, inquiry) = (self[number], Inquiry())
    if let app = device.apps.first { world.ask(method, path, body, inquiry, app, device) }
    return inquiry
  }

  /// Makes an invitation to a list.
  func invite(
    _ device: Int, to list: String, role: String = "editor", seconds: Int64 = 86_400, uses: Int64 = 1
  ) -> HeardInvitation {
    let answer = ask(
      device, "POST", "v1/zones/\(list)/invitations",
      ["role": .string(role), "expires_in": .integer(seconds), "uses": .integer(uses)])
    expect("I10", answer.answer?.status == 201, "an owner makes invitations")
    world.oracle.invited(to: list, role: role, uses: Int(uses))
    return HeardInvitation(
      id: answer.json["id"]?.stringValue ?? "", token: answer.json["token"]?.stringValue ?? "")
  }

  @discardableResult
  func accept(_ device: Int, _ invitation: HeardInvitation) -> Inquiry {
    ask(device, "POST", "v1/invitations/accept", ["token": .string(invitation.token)])
  }

  /// Accepts again and again, as a person does, until there is an answer.
  func acceptUntilAnswered(_ device: Int, _ invitation: HeardInvitation) -> Inquiry {
    for _ in 0..<10 {
      let inquiry = accept(device, invitation)
      if let status = inquiry.answer?.status, status < 500 { return inquiry }
      pass(2000)
    }
    return Inquiry()
  }

  /// An invitation gives nothing any more, and says so; nothing changes by it.
  func expectInvalid(_ device: Int, _ invitation: HeardInvitation, _ reason: String) {
    world.lookAtServer()
    let before = server.tables
    let inquiry = acceptUntilAnswered(device, invitation)
    expect(
      "I10", inquiry.answer?.status == 404 && inquiry.json["code"]?.stringValue == "invitation-invalid",
      "an invitation that \(reason) is refused, not answered \(inquiry.answer?.status ?? 0)")
    world.lookAtServer()
    expect("I6", server.tables == before, "an invitation that \(reason) changes nothing")
  }

  /// The roles that a device's user has in a list, as `members` says: one at the most.
  func roles(of device: Int, in list: String) -> [String] {
    let user = world.userID(of: self[device])
    return server.tables.filter {
      $0.key.table == "members" && $0.value.zone == list && $0.value["user"]?.string == user
    }.compactMap { $0.value["role"]?.string }
  }
}
