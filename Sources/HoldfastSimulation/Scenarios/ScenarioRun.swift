import HoldfastCore

/// Runs a scenario once undisturbed, and once for every step of the disk in its critical section.
struct ScenarioRun {
  let scenario: Scenario
  private(set) var runs = 0
  private(set) var violations: [Violation] = []
  /// The interruption of the failed run.
  private(set) var interruption: Stage.Interruption?

  /// - Parameter share: the selection of steps to try.
  init(_ scenario: Scenario, _ share: Share, on disk: SimulatedDisk, isVerbose: Bool) throws {
    self.scenario = scenario
    let steps = try run(nil, disk, isVerbose)
    for trouble in scenario.troubles {
      for step in share.of(trouble.moments(of: steps)) where violations.isEmpty {
        _ = try run(Stage.Interruption(trouble: trouble, step: step), disk, false)
      }
    }
    if isVerbose, let interruption { _ = try run(interruption, disk, true) }
  }

  /// Runs the scenario once.
  ///
  /// - Returns: the steps of the disk in the critical section.
  private mutating func run(
    _ interruption: Stage.Interruption?, _ disk: SimulatedDisk, _ isVerbose: Bool
  ) throws -> [SimulatedDisk.Step] {
    let world = try World(Plan(scenario), disk: disk, isVerbose: isVerbose)
    let stage = Stage(world, interruption)
    // Closing takes disk steps too, which consult the stage.
    defer { withExtendedLifetime(stage) { world.end() } }
    var taken: Set<Transition> = []
    let before = Trace.observer
    Trace.observer = {
      taken.insert($0)
      before?($0)
    }
    defer { Trace.observer = before }
    do {
      stage.pass(3000)
      try scenario.script(stage)
      stage.finish()
    } catch {
      world.oracle.report("scenario", "it does not come to its end: \(error)")
    }
    if interruption == nil {
      for transition in scenario.takes.subtracting(taken) {
        world.oracle.report("scenario", "it does not reach \"\(transition.rawValue)\"")
      }
    }
    runs += 1
    if violations.isEmpty, !world.oracle.violations.isEmpty {
      (violations, self.interruption) = (world.oracle.violations, interruption)
    }
    return stage.steps
  }

  /// One line for people, followed by the violations.
  var report: String {
    let words = "\(scenario.name) (\(scenario.guards)), \(runs) \(runs == 1 ? "run" : "runs"): "
    if violations.isEmpty { return words + "ok" }
    let moment = interruption.map { ", \($0.trouble.rawValue) at step \($0.step)" } ?? ""
    return ([words + "BROKEN" + moment] + violations.prefix(3).map { "  \($0.invariant): \($0.text)" })
      .joined(separator: "\n")
  }

  /// Every n-th step, from a first one: each run tries others when there is no time for all.
  struct Share {
    let every: Int
    let first: Int

    func of(_ moments: [Int]) -> [Int] {
      moments.indices.filter { $0 % every == first % every }.map { moments[$0] }
    }
  }

  /// Runs one scenario by its name, or all. Returns whether all passed.
  static func all(named name: String?, _ share: Share, on disk: SimulatedDisk) throws -> Bool {
    let chosen = Scenario.all.filter { name == nil || $0.name == name }
    if chosen.isEmpty { throw Options.Wrong(description: "There is no scenario of this name.") }
    let results = try chosen.map { scenario in
      let result = try ScenarioRun(scenario, share, on: disk, isVerbose: name != nil)
      say(result.report)
      return result
    }
    let broken = results.count { !$0.violations.isEmpty }
    say("\(results.count) scenarios, \(results.reduce(0) { $0 + $1.runs }) runs, \(broken) broken")
    return broken == 0
  }
}

extension Command.Trouble {
  /// The steps, counted from 1, at which the trouble leaves another state than at the step before; only these are tried. The number of
  /// steps plus one stands for the end.
  ///
  /// Reads and locks leave no state. Consecutive writes count as one, because SQLite trusts the first ones only when the last is there. The
  /// possible states of a power failure before a sync include those before the writes that it would have made durable. I/O errors are tried
  /// only at writes, syncs and changes of names.
  fileprivate func moments(of steps: [SimulatedDisk.Step]) -> [Int] {
    if steps.isEmpty { return [] }
    var moments: [Int] = []
    var before: TextMap<SimulatedDisk.Step.Kind> = [:]
    for (index, step) in steps.enumerated() {
      if isMoment(step.kind, after: before[step.process.machine]) { moments.append(index + 1) }
      before[step.process.machine] = step.kind
    }
    return self == .kill || self == .crash ? moments + [steps.count + 1] : moments
  }

  private func isMoment(
    _ kind: SimulatedDisk.Step.Kind, after before: SimulatedDisk.Step.Kind?
  ) -> Bool {
    switch self {
    case _ where kind == .write: self != .crash && before != .write
    case .ioError: kind == .sync || kind.changesNames
    case .full: kind == .create || kind == .shmExtend
    case .kill, .crash:
      kind == .sync || kind.changesNames || before == .sync || before?.changesNames == true
    }
  }
}
