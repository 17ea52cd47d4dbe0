import Holdfast
import HoldfastCore
import HoldfastHTTP
import HoldfastServer

/// The server: its disk and its process.
final class SimulatedServer {
  /// The content of a backup, and the model's state when it was taken.
  struct Backup {
    let content: [UInt8]
    let memory: ServerMemory
  }

  static let machine = "server"
  static let file = "holdfast.db"
  static let path = "/server/holdfast.db"

  var process: SimulatedProcess?
  var inline: InlineServer?
  /// The version of the schema at its next start.
  var version = Schemas.Version.first
  /// The observer's last view.
  var view = ServerView()
  var observer: Observer?
  var backup: Backup?
  /// Whether the history file stays when a copy replaces the database.
  var keepsHistoryFile = true
  /// The last message sent before the last restore.
  var lastOfLostHistory = 0
  /// The streams that are open according to the server, by number.
  var streams: [Int: SimulatedStream] = [:]
}

extension World {
  /// More syncs than any plan needs.
  private static let syncLimit = 20_000

  func startServer() {
    guard server.process.map({ !disk.isAlive($0) }) ?? true else { return }
    let process = disk.start(on: SimulatedServer.machine)
    server.process = process
    let source = ChanceSource(Chance(seed: plan.seed, 2 + UInt64(process.number) << 8))
    var environment = ServerEnvironment(
      now: { [unowned self] in time(on: SimulatedServer.machine) },
      random: { count in (0..<count).map { _ in UInt8(truncatingIfNeeded: source.next() >> 32) } },
      passwords: PasswordHashing(hash: { "hashed " + $0 }, verify: { "hashed " + $0 == $1 }, decoy: "none"))
    environment.measured = { [unowned self] in now + aged }
    environment.answerSize = plan.answerSize
    environment.writeBudget.changeSets = plan.changeSetBudget
    environment.pieceWork = plan.pieceWork
    // Clocks jump by years here. Other tests cover the expiry of sessions.
    environment.limits.sessionIdle = .seconds(Int64.max / 1_000_000)
    environment.limits.sessionLifetime = .seconds(Int64.max / 1_000_000)
    environment.limits.sessionsInHour = .max
    do {
      server.inline = try run(as: process) {
        if let postgres = plan.postgres { return try open(postgres, environment) }
        let exists =
          disk.exists(SimulatedServer.path)
          && disk.image(of: SimulatedServer.machine).files[SimulatedServer.file]?.isEmpty == false
        return try InlineServer(
          file: SimulatedServer.path, exists: exists, history: SimulatedHistoryFile(disk),
          schema: schema(server.version),
          removals: .allow, environment: environment,
          log: { [unowned self] in history.add("server says: \($0)", at: now) })
      }
    } catch {
      history.add("server does not start: \(error)", at: now)
      expectCalledFull(error, of: process)
      stopServer()
      timeline.add(.startServer, at: now + 1000)
      return
    }
    guard disk.isAlive(process) else { return serverDied() }
    history.add("server starts", at: now)
    oracle.serves(columns(of: server.version))
    if plan.hasStreams { timeline.add(.heartbeat(process), at: now + StreamTraffic.heartbeat) }
  }

  private func open(_ postgres: RealPostgres, _ environment: ServerEnvironment) throws -> InlineServer {
    try InlineServer(
      .postgres(postgres.location), schema: schema(server.version),
      removals: .allow, environment: environment,
      log: { [unowned self] in history.add("server says: \($0)", at: now) })
  }

  /// Whether a server on a real database dies with the current request, because its disk has no steps to count; nil if it lives.
  private func death() -> Death? {
    guard plan.postgres != nil, !isHealing, var trouble = armed[SimulatedServer.machine] else { return nil }
    trouble.steps -= 10
    armed[SimulatedServer.machine] = trouble.steps > 0 ? trouble : nil
    if trouble.steps > 0 { return nil }
    switch trouble.trouble {
    case .kill: return .beforeCommit
    case .crash: return .beforeAnswer
    case .ioError, .full: return nil
    }
  }

  private enum Death { case beforeCommit, beforeAnswer }

  /// Ends the server's process.
  func stopServer() {
    if let process = server.process { disk.kill(process) }
    server.inline = nil
    server.process = nil
    StreamTraffic(world: self).loseStreams()
  }

  func serverDied() {
    history.add("server died", at: now)
    closeServerObserver()
    stopServer()
    var chance = Chance(seed: seed, UInt64(now & 0xFFFF_FFFF))
    timeline.add(.startServer, at: now + chance.number(in: 1...4000))
  }

  /// Requests reach the server at the same moment.
  func arrive(_ all: [Message]) {
    ClerkTraffic(world: self).settleUnsure()
    guard let process = server.process, let inline = server.inline, disk.isAlive(process) else {
      for message in all { refuse(message) }
      return
    }
    // The HTTP layer enforces this limit, and is not simulated.
    let tooLarge = all.filter { ($0.request.body?.count ?? 0) > plan.bodyLimit }
    for message in tooLarge {
      oracle.refused(device: message.device.machine, code: "body-too-large")
      if oracle.lost != nil { oracle.recoversInPieces = true }
      answer(message, HTTPResponse(status: 413, body: Problem(.bodyTooLarge).document))
    }
    let taken = all.filter { ($0.request.body?.count ?? 0) <= plan.bodyLimit }
    if taken.isEmpty { return }
    if oracle.lost != nil, taken.contains(where: recoversInPieces) { oracle.recoversInPieces = true }
    tellTime()
    let death = death()
    if death == .beforeCommit { return serverDied() }
    let responses = run(as: process) { inline.respond(to: taken.map(request(of:))) }
    if death == .beforeAnswer { disk.kill(process) }
    guard disk.isAlive(process) else { return serverDied() }
    oracle.server.viewBefore = taken.count > 1 ? server.view : nil
    lookAtServer()
    for (message, response) in zip(taken, responses) { answer(message, response) }
    answerInvitations()
    StreamTraffic(world: self).pushEvents()
  }

  /// Whether a device recovers more records than the server takes at once, or does so while a zone is still on its way to it. What is to be
  /// recovered of that zone comes in a later request.
  private func recoversInPieces(_ message: Message) -> Bool {
    guard let request = try? JSONValue(parsing: message.request.body ?? []),
      let recovered = request["recovered"]?.elements
    else { return false }
    if recovered.count > plan.changeSetBudget { return true }
    guard case .object(let acks)? = request["acks"] else { return false }
    return acks.contains { $0.value.stringValue.flatMap { ChangeToken($0) }.map { $0.purged != 0 } ?? false }
  }

  /// Reports the server's clock to the model.
  func tellTime() {
    let clock = time(on: SimulatedServer.machine)
    latestServerTime = max(latestServerTime, clock)
    let time = Timestamp.text(milliseconds: clock)
    oracle.server.time = max(oracle.server.time ?? time, time)
    oracle.server.milliseconds = latestServerTime
  }

  private func answer(_ message: Message, _ response: HTTPResponse) {
    history.add(
      "server: \(message.number) of \(message.device.machine) to \(message.request.path): \(response.status), \(response.body.count) bytes",
      at: now)
    if history.isPrinted {
      say("  > " + String(decoding: message.request.body ?? [], as: UTF8.self))
      say("  < " + String(decoding: response.body, as: UTF8.self))
    }
    if message.request.path == "v1/sync", response.status == 200 { noteAnswered(response, message) }
    let retryAfter = response.headers.first { $0.name == "Retry-After" }.flatMap { Int($0.value) }
    reply(
      TransportAnswer(status: response.status, retryAfter: retryAfter, body: response.body), to: message)
  }

  func request(of message: Message) -> HTTPRequest {
    var headers = HTTPHeaders()
    headers.append(name: "Content-Type", value: "application/json")
    if let token = message.request.token { headers.append(name: "Authorization", value: "Bearer \(token)") }
    return HTTPRequest(
      method: message.request.method, target: "/" + message.request.path, headers: headers,
      body: message.request.body ?? [])
  }

  private func noteAnswered(_ response: HTTPResponse, _ message: Message) {
    syncs += 1
    if syncs == Self.syncLimit {
      oracle.report("I7", "after \(syncs) syncs there is still something to ask for")
    }
    guard let answer = try? JSONValue(parsing: response.body), case .array(let zones)? = answer["zones"],
      case .array(let refused)? = answer["refused"]
    else { return }
    for code in refused.compactMap({ $0["problem"]?["code"]?.stringValue }) {
      oracle.refused(device: message.device.machine, code: code)
    }
    let notified = zones.compactMap { part -> String? in
      guard case .array(let changes)? = part["changes"], !changes.isEmpty else { return nil }
      return part["zone"]?.stringValue
    }
    for code in answer["recovered"]?["refused"]?.elements?.compactMap({ $0["problem"]?["code"]?.stringValue })
      ?? []
    {
      oracle.refused(device: message.device.machine, code: code)
    }
    if answer["awaiting_recovery"] != nil {
      // When the time for that is over, the device puts what it has of the zone into quarantine.
      oracle.refused(device: message.device.machine, code: "zone-not-recovered")
    }
    oracle.resets += zones.count { $0["reset"]?.boolValue == true }
    oracle.answered(user: userID(of: message.device), zones: notified, server: server.view)
  }
}
