import HoldfastCore
import HoldfastHTTP
import HoldfastServer

/// REST clients besides the devices.
struct ClerkTraffic {
  let world: World

  /// The server stores the answers of request ids for a day. After a day of its clock, no clerk repeats a request.
  private static let memory: Int64 = 86_400_000

  /// Occasionally sends a new request of a person's clerk.
  func sendClerk(_ command: Command) {
    var chance = Chance(seed: command.seed, 7)
    guard world.plan.hasClerks, chance.one(in: 8), let user = chance.pick(world.devices.map(\.user)) else {
      return
    }
    let clerk = world.clerks[user] ?? Clerk(user: user)
    world.clerks[user] = clerk
    guard clerk.token != nil else { return send(session(of: clerk), of: clerk) }
    clerk.errands += 1
    var choice = ErrandChoice(
      view: world.server.view, user: clerk.userID, isPeaceful: world.plan.isPeaceful, chance: chance,
      token: command.index * 64 + 63)
    send(choice.errand(id: "\(user)-\(clerk.errands)"), of: clerk)
  }

  private func session(of clerk: Clerk) -> Clerk.Errand {
    Clerk.Errand(
      id: "", "POST", "/v1/sessions",
      ["name": .string(clerk.user), "password": "correct horse", "device": ["name": "clerk"]])
  }

  func send(_ errand: Clerk.Errand, of clerk: Clerk) {
    guard !errand.isAnswered else { return }
    world.messages += 1
    var chance = Chance(seed: world.seed, UInt64(world.messages) << 8)
    if errand.id.isEmpty == false {
      // Longer each time, up to 5 minutes.
      let pause = chance.number(in: 2000...9000) << min(errand.attempts, 5)
      errand.attempts += 1
      world.timeline.add(.errand(clerk, errand), at: world.now + pause)
    }
    if chance.one(in: world.weather.silent) || chance.one(in: world.weather.lostRequest) { return }
    world.timeline.add(.errandArrival(clerk, errand), at: world.now + chance.number(in: world.weather.delay))
    if chance.one(in: world.weather.doubled) {
      world.timeline.add(.errandArrival(clerk, errand), at: world.now + chance.number(in: 1...7_200_000))
    }
  }

  /// A clerk's request reaches the server.
  func arrive(_ errand: Clerk.Errand, of clerk: Clerk) {
    settleUnsure()
    guard let process = world.server.process, let inline = world.server.inline, world.disk.isAlive(process)
    else { return }
    if let done = errand.doneAt, abs(world.time(on: SimulatedServer.machine) - done) >= Self.memory {
      errand.isAnswered = true
      return
    }
    // The effect of an earlier request that was killed may be visible now.
    world.lookAtServer()
    world.oracle.look(world.server.view)
    world.tellTime()
    let before = world.server.view
    var headers = HTTPHeaders()
    headers.append(name: "Content-Type", value: "application/json")
    if let token = clerk.token { headers.append(name: "Authorization", value: "Bearer \(token)") }
    if !errand.id.isEmpty { headers.append(name: "X-Client-Request-ID", value: errand.id) }
    let request = HTTPRequest(
      method: errand.method, target: errand.path, headers: headers, body: errand.body?.bytes ?? [])
    let response = world.run(as: process) { inline.respond(to: request) }
    world.unsure = (clerk, errand, before)
    guard world.disk.isAlive(process) else { return world.serverDied() }
    world.history.add(
      "server: \(clerk.name) \(errand.method) \(errand.path) \(errand.id): \(response.status)", at: world.now)
    if world.history.isPrinted {
      say("  > " + String(decoding: request.body, as: UTF8.self))
      say("  < " + String(decoding: response.body, as: UTF8.self))
    }
    if errand.id.isEmpty {
      world.unsure = nil
      world.lookAtServer()
      hearSession(response, clerk)
    } else if response.status < 500 {
      world.unsure = nil
      world.lookAtServer()
      note(response, to: errand, of: clerk, before: before)
      var chance = Chance(seed: world.seed, UInt64(world.messages) << 8 | 1)
      if !chance.one(in: world.weather.lostAnswer) { errand.isAnswered = true }
    }
    StreamTraffic(world: world).pushEvents()
  }

  private func hearSession(_ response: HTTPResponse, _ clerk: Clerk) {
    // Request ids belong to one session's device, so a session answer that arrives twice is used once.
    guard response.status == 200, clerk.token == nil, let answer = try? JSONValue(parsing: response.body)
    else { return }
    clerk.token = answer["token"]?.stringValue
    clerk.userID = answer["user"]?["id"]?.stringValue ?? ""
  }

  /// A request that failed or killed the server may have taken effect. This checks before anything else happens.
  func settleUnsure() {
    guard let (clerk, errand, before) = world.unsure,
      world.server.process.map({ world.disk.isAlive($0) }) == true
    else {
      return
    }
    world.unsure = nil
    world.lookAtServer()
    noteEffect(of: errand, of: clerk, before: before)
    world.oracle.look(world.server.view)
  }

  private func note(_ response: HTTPResponse, to errand: Clerk.Errand, of clerk: Clerk, before: ServerView) {
    let status = response.status
    if let first = errand.answer { checkReplay(response, after: first, to: errand, of: clerk) }
    if errand.answer == nil { errand.answer = (status, response.body) }
    if status >= 400, status != 410 {
      if before.tables != world.server.view.tables {
        world.oracle.report(
          "I6", "\(clerk.name): \(errand.id) was refused with \(status), and changed something")
      }
    } else {
      noteEffect(of: errand, of: clerk, before: before, isAccepted: true)
    }
    world.oracle.look(world.server.view)
  }

  /// A replay is the first answer. Only where that has records of a zone that the person may not see any more, another takes its place, with
  /// nothing of them: PROTOCOL.md, section 9.4.
  private func checkReplay(
    _ replay: HTTPResponse, after first: (status: Int, body: [UInt8]), to errand: Clerk.Errand,
    of clerk: Clerk
  ) {
    let lost = Self.zones(in: try? JSONValue(parsing: first.body))
      .subtracting(world.server.view.zones(of: clerk.userID))
    if !lost.isDisjoint(with: Self.zones(in: try? JSONValue(parsing: replay.body))) {
      world.oracle.report(
        "I10", "\(clerk.name): the replay of \(errand.id) has records of a zone that was lost since")
    } else if lost.isEmpty, first != (replay.status, replay.body) {
      world.oracle.report(
        "I1",
        "\(clerk.name): \(errand.id) was answered \(first.status) first, and \(replay.status) when it was sent again, or otherwise"
      )
    }
  }

  /// The zones of the records in an answer, at any depth.
  private static func zones(in json: JSONValue?) -> TextSet {
    let own = json?["zone"]?.stringValue.map { TextSet([$0]) } ?? []
    let inner = (json?.elements ?? []) + (json?.members ?? []).map(\.value)
    return inner.reduce(own) { $0.union(zones(in: $1)) }
  }

  private func noteEffect(
    of errand: Clerk.Errand, of clerk: Clerk, before: ServerView, isAccepted: Bool = false
  ) {
    let hasEffect = before.tables != world.server.view.tables
    if errand.doneAt != nil {
      if hasEffect { world.oracle.report("I1", "\(clerk.name): \(errand.id) took effect twice") }
      return
    }
    guard hasEffect || isAccepted else { return }
    // A deletion in pieces removes its own record last. One that failed before has its effect when it is sent again.
    let isPiece =
      !isAccepted && errand.method == "DELETE"
      && errand.key.map { world.server.view.tables[$0] != nil } == true
    if !isPiece { errand.doneAt = world.time(on: SimulatedServer.machine) }
    world.oracle.requested(
      by: clerk.name, user: clerk.userID, before: before.tables, after: world.server.view.tables,
      token: errand.token, key: errand.key, column: errand.column)
  }
}
