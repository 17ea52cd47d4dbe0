import Holdfast
import HoldfastCore
import HoldfastHTTP

/// Devices, a server, and what is between them, in one thread; a plan decides everything that happens.
///
/// @unchecked Sendable: the simulation has one thread.
final class World: @unchecked Sendable {
  /// Something that happens by itself at its time.
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
    /// A clerk sends what it wants done, if it was not answered yet.
    case errand(Clerk, Clerk.Errand)
    case errandArrival(Clerk, Clerk.Errand)
    /// The person signs in, if nobody is.
    case signIn(SimulatedDevice)
  }

  let plan: Plan
  let disk: SimulatedDisk
  let oracle: Oracle
  private let schemas: [SyncSchema]
  var devices: [SimulatedDevice] = []
  var server: SimulatedServer
  /// The programs that people have beside their devices, by the names of their accounts.
  var clerks: TextMap<Clerk> = [:]
  /// A clerk's request of which it is not known whether it had its effect, and what the server showed before.
  var unsure: (clerk: Clerk, errand: Clerk.Errand, before: ServerView)?
  /// What was asked for invitations; the answers have their tokens.
  var invitations: [Inquiry] = []
  /// Whether people accept the memberships that others have made for them; where they do not, the memberships wait.
  var acceptsMemberships = true
  /// The processes that only look.
  var observers: Set<SimulatedProcess> = []
  /// The ids of the users, by their names.
  var userIDs: TextMap<String> = [:]
  var timeline = Timeline<Event>()
  /// True time: milliseconds since the run began.
  var now: Int64 = 0
  /// How far each machine's clock is off.
  var clocks: TextMap<Int64> = [:]
  /// How much time went by at once on the server, besides what `now` says.
  var aged: Int64 = 0
  var weather = Weather.calm
  /// What will happen to a machine's disk, after so many steps.
  var armed: TextMap<(trouble: Command.Trouble, steps: Int)> = [:]
  /// Machines whose disk gave errors since somebody asked.
  var troubled: TextSet = []
  /// Machines whose disk is full.
  var full: TextSet = []
  /// The seed of what is going on.
  var seed: UInt64
  var messages = 0
  var streamCount = 0
  /// Whether the server can be reached from a device, as far as streams are concerned.
  var isReachable: (SimulatedDevice) -> Bool = { _ in true }
  /// The latest that the server's clock has shown.
  var latestServerTime: Int64 = 0
  /// How many syncs were answered.
  var syncs = 0
  /// Everything that happened, a line each; the same for the same plan to the last byte.
  var history = History()
  /// Whether troubles have ended, and all must come to rest.
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

  /// Runs the plan, then heals, and gives what was wrong.
  func run() -> [Violation] {
    pass(3000)
    for command in plan.commands where oracle.violations.isEmpty {
      seed = command.seed
      history.add("# \(command)", at: now)
      perform(command)
      sendClerk(command)
      invite(with: command)
      purge(with: command)
      pass(Int64(command.seed % 40))
    }
    if oracle.violations.isEmpty { heal() }
    return oracle.violations
  }

  /// Lets go of everything, so that the next world finds the disk empty.
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

  /// What a machine takes for the time.
  func time(on machine: String) -> Int64 { max(Self.beginning + now + (clocks[machine] ?? 0), 0) }

  /// Lets time go by, and all happen that is due.
  func pass(_ milliseconds: Int64) {
    let end = now + milliseconds
    while let next = timeline.nextTime, next <= end, oracle.violations.isEmpty { happen() }
    now = max(now, end)
  }

  /// Lets the next thing happen.
  func happen() {
    guard let (time, event) = timeline.removeNext() else { return }
    now = max(now, time)
    switch event {
    case .arrival(let first):
      // What arrives in the same moment is answered together.
      var all = [first]
      while timeline.nextTime == time, case .arrival(let other)? = timeline.next {
        all.append(other)
        _ = timeline.removeNext()
      }
      arrive(all)
    case .answer(let message, let answer): hear(answer, to: message)
    case .timer(let device, let app, let number):
      if isRunning(app), app.timer == number { handle(.timer, app, device) }
    case .launch(let device): launch(device)
    case .startServer: startServer()
    case .streamRequest(let stream): arrive(stream)
    case .streamEvent(let stream, let event): hear(event, of: stream)
    case .streamTimer(let device, let app, let number):
      if isRunning(app) { step(app, device) { $0.streamTimer(number, in: $1) } }
    case .heartbeat(let process): beat(process)
    case .errand(let clerk, let errand): send(errand, of: clerk)
    case .errandArrival(let clerk, let errand): arrive(errand, of: clerk)
    case .signIn(let device): signIn(device)
    }
  }

  // MARK: Processes

  func schema(_ version: Schemas.Version) -> SyncSchema { schemas[version.rawValue] }

  func isRunning(_ app: SimulatedDevice.App) -> Bool { disk.isAlive(app.process) }

  /// Runs the product's code on behalf of a process.
  func run<T>(as process: SimulatedProcess, _ body: () throws -> T) rethrows -> T {
    let before = disk.running
    disk.running = process
    defer { disk.running = before }
    return try body()
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

/// What happened, for people and for comparing two runs.
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
