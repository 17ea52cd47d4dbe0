import HoldfastCore
import HoldfastHTTP
import HoldfastServer

/// Programs that use the REST interface beside the devices.
extension World {
  /// The answers of request ids are kept for a day: nobody sends a request again when a day of the server's clock has gone by.
  private static let memory: Int64 = 86_400_000

  /// A person's program wants something done, now and then.
  func sendClerk(_ command: Command) {
    var chance = Chance(seed: command.seed, 7)
    guard plan.hasClerks, chance.one(in: 8), let user = chance.pick(devices.map(\.user)) else { return }
    let clerk = clerks[user] ?? Clerk(user: user)
    clerks[user] = clerk
    guard clerk.token != nil else { return send(session(of: clerk), of: clerk) }
    clerk.errands += 1
    var choice = ErrandChoice(
      view: server.view, user: clerk.userID, isPeaceful: plan.isPeaceful, chance: chance,
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
    messages += 1
    var chance = Chance(seed: seed, UInt64(messages) << 8)
    if errand.id.isEmpty == false {
      // Longer each time, up to 5 minutes.
      let pause = chance.number(in: 2000...9000) << min(errand.attempts, 5)
      errand.attempts += 1
      timeline.add(.errand(clerk, errand), at: now + pause)
    }
    if chance.one(in: weather.silent) || chance.one(in: weather.lostRequest) { return }
    timeline.add(.errandArrival(clerk, errand), at: now + chance.number(in: weather.delay))
    if chance.one(in: weather.doubled) {
      timeline.add(.errandArrival(clerk, errand), at: now + chance.number(in: 1...7_200_000))
    }
  }

  /// A clerk's request reaches the server.
  func arrive(_ errand: Clerk.Errand, of clerk: Clerk) {
    settleUnsure()
    guard let process = server.process, let inline = server.inline, disk.isAlive(process) else { return }
    if let done = errand.doneAt, abs(time(on: SimulatedServer.machine) - done) >= Self.memory {
      errand.isAnswered = true
      return
    }
    // What a request before was killed over may be there by now.
    lookAtServer()
    oracle.look(server.view)
    tellTime()
    let before = server.view
    var headers = HTTPHeaders()
    headers.append(name: "Content-Type", value: "application/json")
    if let token = clerk.token { headers.append(name: "Authorization", value: "Bearer \(token)") }
    if !errand.id.isEmpty { headers.append(name: "X-Client-Request-ID", value: errand.id) }
    let request = HTTPRequest(
      method: errand.method, target: errand.path, headers: headers, body: errand.body?.bytes ?? [])
    let response = run(as: process) { inline.respond(to: request) }
    unsure = (clerk, errand, before)
    guard disk.isAlive(process) else { return serverDied() }
    history.add(
      "server: \(clerk.name) \(errand.method) \(errand.path) \(errand.id): \(response.status)", at: now)
    if history.isPrinted {
      say("  > " + String(decoding: request.body, as: UTF8.self))
      say("  < " + String(decoding: response.body, as: UTF8.self))
    }
    if errand.id.isEmpty {
      unsure = nil
      lookAtServer()
      hearSession(response, clerk)
    } else if response.status < 500 {
      unsure = nil
      lookAtServer()
      note(response, to: errand, of: clerk, before: before)
      var chance = Chance(seed: seed, UInt64(messages) << 8 | 1)
      if !chance.one(in: weather.lostAnswer) { errand.isAnswered = true }
    }
    pushEvents()
  }

  private func hearSession(_ response: HTTPResponse, _ clerk: Clerk) {
    // Request ids belong to one session's device, so a session that came twice is used once.
    guard response.status == 200, clerk.token == nil, let answer = try? JSONValue(parsing: response.body)
    else { return }
    clerk.token = answer["token"]?.stringValue
    clerk.userID = answer["user"]?["id"]?.stringValue ?? ""
  }

  /// A request that the server failed, or died over, may have had its effect all the same: it shows before anything else happens.
  func settleUnsure() {
    guard let (clerk, errand, before) = unsure, server.process.map({ disk.isAlive($0) }) == true else {
      return
    }
    unsure = nil
    lookAtServer()
    noteEffect(of: errand, of: clerk, before: before)
    oracle.look(server.view)
  }

  private func note(_ response: HTTPResponse, to errand: Clerk.Errand, of clerk: Clerk, before: ServerView) {
    let status = response.status
    if let first = errand.answer, first != (status, response.body) {
      oracle.report(
        "I1",
        "\(clerk.name): \(errand.id) was answered \(first.status) first, and \(status) when it was sent again, or otherwise"
      )
    }
    if errand.answer == nil { errand.answer = (status, response.body) }
    if status >= 400, status != 410 {
      if before.tables != server.view.tables {
        oracle.report("I6", "\(clerk.name): \(errand.id) was refused with \(status), and changed something")
      }
    } else {
      noteEffect(of: errand, of: clerk, before: before, isAccepted: true)
    }
    oracle.look(server.view)
  }

  private func noteEffect(
    of errand: Clerk.Errand, of clerk: Clerk, before: ServerView, isAccepted: Bool = false
  ) {
    let hasEffect = before.tables != server.view.tables
    if errand.doneAt != nil {
      if hasEffect { oracle.report("I1", "\(clerk.name): \(errand.id) took effect twice") }
      return
    }
    guard hasEffect || isAccepted else { return }
    errand.doneAt = time(on: SimulatedServer.machine)
    oracle.requested(
      by: clerk.name, user: clerk.userID, before: before.tables, after: server.view.tables,
      token: errand.token, key: errand.key, column: errand.column)
  }
}
