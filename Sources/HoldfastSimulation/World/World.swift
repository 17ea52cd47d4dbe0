import Holdfast
import HoldfastCore
import HoldfastHTTP
import HoldfastSQLite

/// Devices, a server, and the network between them, in one thread. A plan decides everything that happens.
///
/// @unchecked Sendable: the simulation has one thread.
final class World: @unchecked Sendable {
  /// A scheduled event.
  enum Event {
    case arrival(Message)
    case answer(Message, Result<TransportAnswer, StoreError>)
    case timer(SimulatedDevice, SimulatedDevice.App, number: Int)
    case launch(SimulatedDevice)
    case startServer
    case streamRequest(SimulatedStream)
    case streamEvent(SimulatedStream, SyncConversation.StreamEvent)
    case streamTimer(SimulatedDevice, SimulatedDevice.App, number: Int)
    case heartbeat(SimulatedProcess)
    /// A clerk sends its request unless it is answered.
    case errand(Clerk, Clerk.Errand)
    case errandArrival(Clerk, Clerk.Errand)
    /// The person signs in, unless signed in already.
    case signIn(SimulatedDevice)
  }

  let plan: Plan
  let disk: SimulatedDisk
  let oracle: Oracle
  private let schemas: [SyncSchema]
  var devices: [SimulatedDevice] = []
  var server: SimulatedServer
  /// The REST clients of people, by account name.
  var clerks: TextMap<Clerk> = [:]
  /// A clerk's request whose effect is unknown, and the server's state before it.
  var unsure: (clerk: Clerk, errand: Clerk.Errand, before: ServerView)?
  /// The requests for new invitations; their answers contain the tokens.
  var invitations: [Inquiry] = []
  /// Whether people accept memberships that others created for them. Otherwise these stay pending.
  var acceptsMemberships = true
  /// When memberships are accepted again after the server failed.
  var acceptsAgainAt: Int64 = 0
  /// The processes of observers.
  var observers: Set<SimulatedProcess> = []
  /// The ids of the users, by name.
  var userIDs: TextMap<String> = [:]
  var timeline = Timeline<Event>()
  /// True time, in milliseconds since the beginning of the run.
  var now: Int64 = 0
  /// The error of each machine's clock.
  var clocks: TextMap<Int64> = [:]
  /// The additional time that passed on the server at once, besides `now`.
  var aged: Int64 = 0
  var weather = Weather.calm
  /// The next trouble of a machine, and the disk steps until it happens.
  var armed: TextMap<(trouble: Command.Trouble, steps: Int)> = [:]
  /// Machines whose disk has failed since the last reset of this set.
  var troubled: TextSet = []
  /// Machines whose disk is full.
  var full: TextSet = []
  /// The seed of the current command.
  var seed: UInt64
  var messages = 0
  var streamCount = 0
  /// Whether a device can reach the server for event streams.
  var isReachable: (SimulatedDevice) -> Bool = { _ in true }
  /// The latest time that the server's clock has shown.
  var latestServerTime: Int64 = 0
  /// The number of answered syncs.
  var syncs = 0
  /// The log of all events, one line each. The same plan gives the same log, byte for byte.
  var history = History()
  /// Whether troubles have ended, and the world must settle.
  var isHealing = false

  static let beginning: Int64 = 1_767_225_600_000

  init(_ plan: Plan, disk: SimulatedDisk, isVerbose: Bool) throws {
    self.plan = plan
    self.disk = disk
    seed = plan.seed
    schemas = try Schemas.all(renames: plan.isWide)
    oracle = Oracle(rules: Schemas.rules)
    server = SimulatedServer()
    server.keepsHistoryFile = plan.seed % 3 > 0
    history.isPrinted = isVerbose
    let source = ChanceSource(Chance(seed: plan.seed, 1))
    disk.random = { source.next() }
    disk.now = { [unowned self] in time(on: $0?.machine ?? "") }
    disk.reset()
    try plan.postgres?.empty()
    disk.fault = { [unowned self] in fault($0) }
    for (number, user) in plan.users.enumerated() {
      let device = SimulatedDevice(number: number, user: "user\(user)")
      devices.append(device)
      timeline.add(.launch(device), at: Int64(number))
      timeline.add(.signIn(device), at: Int64(number) + 20)
    }
    timeline.add(.startServer, at: 0)
  }

  /// Runs the plan, heals the world, and returns the violations.
  func run() -> [Violation] {
    pass(3000)
    for command in plan.commands where oracle.violations.isEmpty {
      seed = command.seed
      history.add("# \(command)", at: now)
      perform(command)
      ClerkTraffic(world: self).sendClerk(command)
      invite(with: command)
      Operator(world: self).purge(with: command)
      pass(Int64(command.seed % 40))
    }
    if oracle.violations.isEmpty { heal() }
    return oracle.violations
  }

  /// Releases everything, so that the next world starts with an empty disk.
  func end() {
    server.inline = nil
    server.observer = nil
    for device in devices { (device.apps, device.observer) = ([], nil) }
    timeline = Timeline()
    disk.reset()
    disk.now = { _ in 0 }
    disk.random = { 0 }
  }

  // MARK: Time

  /// The time on a machine's clock.
  func time(on machine: String) -> Int64 { max(Self.beginning + now + (clocks[machine] ?? 0), 0) }

  /// Lets time pass, and handles all due events.
  func pass(_ milliseconds: Int64) {
    let end = now + milliseconds
    while let next = timeline.nextTime, next <= end, oracle.violations.isEmpty { happen() }
    now = max(now, end)
  }

  /// Handles the next event.
  func happen() {
    guard let (time, event) = timeline.removeNext() else { return }
    now = max(now, time)
    switch event {
    case .arrival(let first):
      // Requests that arrive at the same moment are handled together.
      var all = [first]
      while timeline.nextTime == time, case .arrival(let other)? = timeline.next {
        all.append(other)
        _ = timeline.removeNext()
      }
      arrive(all)
    case .answer(let message, let answer): receive(answer, to: message)
    case .timer(let device, let app, let number):
      if isRunning(app), app.timer == number { handle(.timer, app, device) }
    case .launch(let device): launch(device)
    case .startServer: startServer()
    case .streamRequest(let stream): StreamTraffic(world: self).arrive(stream)
    case .streamEvent(let stream, let event): StreamTraffic(world: self).receive(event, of: stream)
    case .streamTimer(let device, let app, let number):
      if isRunning(app) { step(app, device) { $0.streamTimer(number, in: $1) } }
    case .heartbeat(let process): StreamTraffic(world: self).beat(process)
    case .errand(let clerk, let errand): ClerkTraffic(world: self).send(errand, of: clerk)
    case .errandArrival(let clerk, let errand): ClerkTraffic(world: self).arrive(errand, of: clerk)
    case .signIn(let device): signIn(device)
    }
  }

  // MARK: Processes

  func schema(_ version: Schemas.Version) -> SyncSchema { schemas[version.rawValue] }

  func isRunning(_ app: SimulatedDevice.App) -> Bool { disk.isAlive(app.process) }

  /// Runs the product's code as a process.
  func run<T>(as process: SimulatedProcess, _ body: () throws -> T) rethrows -> T {
    let before = disk.running
    disk.running = process
    defer { disk.running = before }
    return try body()
  }

  /// I3: a person who can't write is told that the disk is full.
  func expectCalledFull(_ error: any Error, of process: SimulatedProcess) {
    guard full.contains(process.machine), disk.isAlive(process), let error = error as? SQLiteError,
      [.ioError, .cantOpen].contains(error.code.primary)
    else { return }
    oracle.report("I3", "\(process.machine): the disk is full, which is called \(error)")
  }

  private func fault(_ step: SimulatedDisk.Step) -> SimulatedDisk.Fault {
    let machine = step.process.machine
    if isHealing || observers.contains(step.process) { return .none }
    if full.contains(machine) {
      troubled.insert(machine)
      return .full
    }
    guard var armed = armed[machine] else { return .none }
    armed.steps -= 1
    self.armed[machine] = armed.steps > 0 ? armed : nil
    if armed.steps > 0 { return .none }
    troubled.insert(machine)
    history.add("\(machine): \(armed.trouble.rawValue) at \(step.kind) of \(step.path)", at: now)
    switch armed.trouble {
    case .kill: return .kill
    case .crash: return .crash
    case .ioError: return .ioError
    case .full:
      full.insert(machine)
      return .full
    }
  }
}

/// The log of a run, for people and for comparing two runs.
struct History {
  private(set) var lines: [String] = []
  var isPrinted = false

  mutating func add(_ line: @autoclosure () -> String, at time: Int64) {
    let text = "\(time) \(line())"
    lines.append(text)
    if isPrinted { say(text) }
  }

  /// FNV-1a of all lines.
  var fingerprint: UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for line in lines { for byte in line.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 } }
    return hash
  }
}

extension World {
  /// Ends all troubles, syncs all devices until nothing changes, and checks what must hold then.
  func heal() {
    history.add("# heal", at: now)
    isHealing = true
    weather = .calm
    armed = [:]
    full = []
    pass(60_000)
    // Apps and a server of different versions agree only on columns that both know.
    if server.version != .first || devices.contains(where: { $0.version != .first }) {
      let version = devices.contains { $0.version == .larger } ? .larger : server.version
      install(version, on: .server)
      for device in devices { install(version, on: .device(device.number)) }
    }
    for device in devices {
      device.wantsSession = true
      while device.apps.count > 1 { disk.kill(device.apps.removeLast().process) }
      timeline.add(.signIn(device), at: now + 5000)
    }
    // Pending messages arrive, stopped processes restart, signed-out people sign in, and everything is sent without manual syncs.
    pass(700_000)
    for device in devices where !device.view.outbox.isEmpty {
      oracle.report("I7", "\(device.machine): the network is back, but nothing wakes the outbox")
    }
    Operator(world: self).passWaits()
    Operator(world: self).passHolds(sync: sync)
    let sent = devices.map(\.view.tables)
    var quiet = 0
    for _ in 0..<60 where quiet < 3 {
      let before = devices.map(\.view.tables)
      for device in devices { sync(device) }
      guard oracle.violations.isEmpty else { return }
      if before == sent { demandStillness(before) }
      quiet =
        before == devices.map(\.view.tables) && devices.allSatisfy(\.view.outbox.isEmpty) ? quiet + 1 : 0
    }
    if quiet < 3 { oracle.report("I7", "the devices do not come to rest: \(waiting)") }
    if oracle.violations.isEmpty { Operator(world: self).demandPurged(sync: sync) }
    for device in devices { look(at: device) }
    lookAtServer()
    _ = oracle.finish(
      devices: devices.map {
        FinalDevice(
          device: $0.machine, user: userID(of: $0), follows: $0.isFollowing ? [Schemas.publicZone] : [],
          view: $0.view)
      }, server: server.view,
      soundness: devices.map { Soundness(place: $0.machine, faults: soundness(of: $0)) }
        + [Soundness(place: "server", faults: serverSoundness())])
  }

  /// With streams, a manual sync after this wait finds only changes that the device was notified of. Its next poll would be minutes away.
  private func demandStillness(_ before: [Tables]) {
    guard plan.hasStreams else { return }
    for (device, tables) in zip(devices, before) where device.view.tables != tables {
      // The server treats a copy with the same identity as the author.
      if oracle.devices[device.machine]?.isCopied == true { continue }
      oracle.report("I7", "\(device.machine): nobody told it what has moved")
    }
  }

  private var waiting: String {
    devices.map { "\($0.machine): \($0.view.outbox.count) change sets wait" }.joined(separator: ", ")
  }

  /// A complete manual sync.
  private func sync(_ device: SimulatedDevice) {
    guard let app = device.apps.first else { return pass(5000) }
    let waiter = messages + 1_000_000
    handle(.syncNow, waiter: waiter, app, device)
    for _ in 0..<10_000 where app.finished[waiter] == nil && timeline.nextTime != nil && isRunning(app) {
      guard oracle.violations.isEmpty else { return }
      happen()
    }
  }
}

/// A person's request to the server through the app, besides syncs.
final class Inquiry {
  /// The received answer; nil before, and if none arrived.
  var answer: TransportAnswer?

  var json: JSONValue { (try? JSONValue(parsing: answer?.body ?? [])) ?? .null }
}

/// A request in transit.
struct Message {
  enum Question {
    case conversation(SyncConversation.Question)
    /// A sign-up or sign-in.
    case session(isNew: Bool)
    /// A request that needs a connection.
    case inquiry(Inquiry)
    /// The answer is ignored.
    case nothing
  }

  let number: Int
  let device: SimulatedDevice
  let app: SimulatedDevice.App
  let request: TransportRequest
  let question: Question
}

extension World {
  /// Sends a request. Its answer or a timeout is delivered once.
  func send(
    _ request: TransportRequest, _ question: Message.Question, _ app: SimulatedDevice.App,
    _ device: SimulatedDevice
  ) {
    messages += 1
    let message = Message(number: messages, device: device, app: app, request: request, question: question)
    app.exchanges.insert(message.number)
    // The timeout of the device.
    timeline.add(.answer(message, .failure(StoreError(.offline, "nothing came"))), at: now + 30_000)
    var chance = Chance(seed: seed, UInt64(messages))
    if chance.one(in: weather.silent) || chance.one(in: weather.lostRequest) {
      return history.add("\(device.machine): request \(message.number) is lost", at: now)
    }
    let arrival = now + chance.number(in: weather.delay)
    timeline.add(.arrival(cut(message, &chance)), at: arrival)
    if chance.one(in: weather.doubled) {
      let late = chance.one(in: 4) ? chance.number(in: 1...7_200_000) : chance.number(in: 0...500)
      timeline.add(.arrival(message), at: arrival + late)
    }
  }

  /// Occasionally cuts a message at any byte.
  private func cut(_ message: Message, _ chance: inout Chance) -> Message {
    guard chance.one(in: weather.cut), let body = message.request.body else { return message }
    let part = Array(body.prefix(chance.below(body.count)))
    let request = TransportRequest(
      method: message.request.method, path: message.request.path, token: message.request.token, body: part)
    return Message(
      number: message.number, device: message.device, app: message.app, request: request,
      question: message.question)
  }

  /// Sends the server's answer.
  func reply(_ answer: TransportAnswer, to message: Message) {
    var chance = Chance(seed: seed, UInt64(message.number) << 32 | UInt64(now & 0xFFFF_FFFF))
    if chance.one(in: weather.lostAnswer) {
      return history.add("\(message.device.machine): answer \(message.number) is lost", at: now)
    }
    var answer = answer
    if chance.one(in: weather.cut), !answer.body.isEmpty {
      answer = TransportAnswer(
        status: answer.status, retryAfter: answer.retryAfter,
        body: Array(answer.body.prefix(chance.below(answer.body.count))))
    }
    timeline.add(.answer(message, .success(answer)), at: now + chance.number(in: weather.delay))
  }

  /// Immediately reports to a device that the server is unreachable.
  func refuse(_ message: Message) {
    timeline.add(.answer(message, .failure(StoreError(.offline, "refused"))), at: now + 1)
  }
}
