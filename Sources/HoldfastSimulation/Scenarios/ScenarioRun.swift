import Foundation
import HoldfastCore

/// Runs a scenario undisturbed, and branches off a run for every step of the disk in its critical section: a process that goes on from there
/// with the trouble.
struct ScenarioRun {
  let scenario: Scenario
  private(set) var runs = 0
  private(set) var violations: [Violation] = []
  /// The interruption of the failed run.
  private(set) var interruption: Stage.Interruption?

  /// - Parameter share: the selection of steps to try.
  init(_ scenario: Scenario, _ share: Share, on disk: SimulatedDisk, isVerbose: Bool) throws {
    self.scenario = scenario
    var branches = Branches(troubles: scenario.troubles, share: share)
    try run(nil, &branches, disk, isVerbose)
    runs += branches.count
    guard violations.isEmpty, let broken = branches.broken else { return }
    // From its beginning, in this process, which then knows what it broke.
    var none = Branches(troubles: [], share: share)
    try run(broken, &none, disk, isVerbose)
    if violations.isEmpty {
      (violations, interruption) = (
        [Violation(invariant: "scenario", text: "only its branch breaks")], broken
      )
    }
  }

  /// Runs the scenario once. The process of a branch ends here.
  private mutating func run(
    _ interruption: Stage.Interruption?, _ branches: inout Branches, _ disk: SimulatedDisk, _ isVerbose: Bool
  ) throws {
    let world = try World(Plan(scenario), disk: disk, isVerbose: isVerbose)
    let stage = Stage(world, interruption, branches)
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
    branches = stage.branches
    branches.endIfBranch(isBroken: !world.oracle.violations.isEmpty)
    if interruption == nil {
      for transition in scenario.takes.subtracting(taken) {
        world.oracle.report("scenario", "it does not reach \"\(transition.rawValue)\"")
      }
    }
    runs += 1
    if violations.isEmpty, !world.oracle.violations.isEmpty {
      (violations, self.interruption) = (world.oracle.violations, interruption)
    }
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

    func has(_ moment: Int) -> Bool { moment % every == first % every }
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
