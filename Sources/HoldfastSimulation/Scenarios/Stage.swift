import Holdfast
import HoldfastCore

/// A world under the control of a scenario.
///
/// @unchecked Sendable: the simulation has one thread.
final class Stage: @unchecked Sendable {
  /// The trouble in the critical section, and the disk step at which it happens.
  struct Interruption {
    let trouble: Command.Trouble
    let step: Int
  }

  let world: World
  private(set) var interruption: Interruption?
  private(set) var branches: Branches
  /// The number of steps of the critical sections. The end of each is one.
  private var steps = 0
  /// The machines in their critical section.
  private var critical: TextSet = []
  /// The devices without a connection.
  private var offline: TextSet = []
  /// Decides the fate of each message.
  var fate: (Passing) -> Fate = { _ in .passes }
  /// The held messages, oldest first.
  var held: [Passing] = []
  private var waiters = 1_000_000_000
  private var chance = Chance(seed: 1, 99)
  private var tokens = 0
  /// The number of messages when the world last settled.
  var rest: Int?

  init(_ world: World, _ interruption: Interruption?, _ branches: Branches) {
    self.world = world
    self.interruption = interruption
    self.branches = branches
    world.isReachable = { [unowned self] in !offline.contains($0.machine) }
    let usual = world.disk.fault
    world.disk.fault = { [unowned self] in trouble(at: $0) ?? usual?($0) ?? .none }
  }

  // MARK: Names

  subscript(_ number: Int) -> SimulatedDevice { world.devices[number] }

  /// A unique text, to find it again.
  func token() -> String {
    tokens += 1
    return "~\(tokens)~"
  }

  func newID() -> String {
    Identifier.make(milliseconds: World.beginning + world.now, random: (chance.next(), chance.next()))
  }

  // MARK: Time

  /// Lets time pass, and handles all due events.
  func pass(_ milliseconds: Int64) {
    let end = world.now + milliseconds
    while let next = world.timeline.nextTime, next <= end, world.oracle.violations.isEmpty { happen() }
    world.now = max(world.now, end)
  }

  /// Handles the next event, unless its message has another fate.
  private func happen() {
    switch world.timeline.next {
    case .arrival(let message):
      advance()
      decide(.request(message))
    case .answer(let message, .success(let answer)):
      advance()
      decide(.answer(message, answer))
    default: world.happen()
    }
  }

  private func advance() {
    guard let (time, _) = world.timeline.removeNext() else { return }
    world.now = max(world.now, time)
  }

  private func decide(_ passing: Passing) {
    let message = passing.message
    if offline.contains(message.device.machine) { return world.refuse(message) }
    switch fate(passing) {
    case .passes: deliver(passing)
    case .isLost: note("a message of \(message.number) is lost")
    case .isHeld:
      note("a message of \(message.number) is held back")
      held.append(passing)
    case .isDoubled:
      deliver(passing)
      held.append(passing)
    case .becomes(let answer):
      note("\(message.number) is answered with \(answer.status) by the scenario")
      world.receive(.success(answer), to: message)
    }
  }

  private func deliver(_ passing: Passing) {
    switch passing {
    case .request(let message): world.arrive([message])
    case .answer(let message, let answer): world.receive(.success(answer), to: message)
    }
  }

  /// Delivers the held messages; requests arrive at the same moment.
  func release() {
    let all = held
    held = []
    world.arrive(all.compactMap { if case .request(let message) = $0 { message } else { nil } })
    for case .answer(let message, let answer) in all { world.receive(.success(answer), to: message) }
  }

  func note(_ line: String) { world.history.add("stage: \(line)", at: world.now) }

  // MARK: Machines

  func goOffline(_ devices: Int...) {
    for device in devices {
      offline.insert(self[device].machine)
      for app in self[device].apps { StreamTraffic(world: world).breakStream(of: app) }
    }
  }

  func goOnline(_ devices: Int...) { for device in devices { offline.remove(self[device].machine) } }

  /// Syncs completely, as if by hand.
  ///
  /// - Returns: whether the sync succeeded.
  @discardableResult
  func sync(_ number: Int, process: Int = 0) -> Bool {
    guard self[number].apps.indices.contains(process) else {
      pass(6000)
      return false
    }
    let app = self[number].apps[process]
    waiters += 1
    let waiter = waiters
    world.handle(.syncNow, waiter: waiter, app, self[number])
    let first = world.messages
    while app.finished[waiter] == nil, world.isRunning(app), world.timeline.nextTime != nil,
      world.oracle.violations.isEmpty
    {
      happen()
      expect("I12", world.messages < first + 500, "a sync comes to its end; this one asks again and again")
    }
    return app.finished[waiter] ?? false
  }

  /// Requests a sync without waiting.
  func begin(_ number: Int, process: Int = 0) {
    guard self[number].apps.indices.contains(process) else { return }
    world.handle(.syncNow, self[number].apps[process], self[number])
  }

  /// Kills the app, which stays down until the next `pass`.
  func kill(_ number: Int) {
    world.end(self[number])
    self[number].interrupted = .other
    world.timeline.add(.launch(self[number]), at: world.now + 1)
  }

  func stopServer() {
    world.closeServerObserver()
    world.stopServer()
  }

  /// Performs a command of the kind in plans.
  func perform(_ action: Command.Action, seed: UInt64 = 1) {
    world.perform(Command(index: 0, seed: seed, action: action))
  }

  /// Replaces the app or the server by one with another version of the schema.
  func install(_ version: Schemas.Version, on machines: Command.Machine...) {
    for machine in machines { world.install(version, on: machine) }
    pass(2000)
  }

  // MARK: Interruption

  /// A critical section. Branches interrupt it at each disk step of these machines.
  ///
  /// Afterwards all disks have room, and killed processes are restarted.
  func interrupted(_ machines: String..., body: () throws -> Void) rethrows {
    critical.formUnion(machines)
    try body()
    critical = []
    world.full = []
    steps += 1
    if interruption == nil { take(branches.branchAtEnd(steps)) }
    guard let interruption, interruption.step <= steps else { return }
    if interruption.step == steps { for machine in machines { end(machine, by: interruption.trouble) } }
    pass(8000)
  }

  /// Goes on with a trouble, if this process is a branch now.
  private func take(_ trouble: Interruption?) {
    guard let trouble else { return }
    interruption = trouble
    world.history.isPrinted = false
  }

  /// Ends a machine between two steps.
  private func end(_ machine: String, by trouble: Command.Trouble) {
    note("\(trouble.rawValue) of \(machine)")
    switch trouble {
    case .kill: world.disk.killAll(on: machine)
    case .crash: world.disk.crash(machine: machine)
    case .ioError, .full: return
    }
    if machine == SimulatedServer.machine {
      world.server.observer = nil
      world.stopServer()
      return world.timeline.add(.startServer, at: world.now + 1000)
    }
    for device in world.devices where device.machine == machine {
      for app in device.apps { _ = world.checkLife(app, device, .other) }
    }
  }

  private func trouble(at step: SimulatedDisk.Step) -> SimulatedDisk.Fault? {
    let machine = step.process.machine
    guard critical.contains(machine), !world.observers.contains(step.process) else { return nil }
    steps += 1
    if interruption == nil { take(branches.branch(at: step, steps)) }
    guard let interruption, steps == interruption.step else { return nil }
    note("\(interruption.trouble.rawValue) at \(step.kind) of \(step.path)")
    switch interruption.trouble {
    case .kill: return .kill
    case .crash: return .crash
    case .ioError: return .ioError
    case .full:
      world.full.insert(machine)
      return .full
    }
  }
}
