import Foundation
import HoldfastCore
import HoldfastSQLite

/// `simulate`: the whole system in one process, decided by seeds.
@main
enum Simulate {
  private static let usage = """
    Usage: simulate [--seed N] [--steps N] [--keep N,N,...] [--verbose] [--minutes N] [--seeds N]
           [--postgres URL] [--wide]
           simulate --scenarios [--every N] | --scenario NAME

      --seed N      the first seed; a new one unless given
      --steps N     how many commands a run has; by the seed, 40 to 300, unless given
      --keep LIST   leaves out all commands but these; "-" for none
      --minutes N   runs one seed after the other for so long
      --seeds N     runs so many seeds
      --coverage    says at the end how often each transition of the protocol was taken
      --verbose     prints what happens as it happens
      --wide        restores of the server too, and a column that gets another name
      --postgres U  the server has this database, which is emptied for each run, in place of a simulated disk
      --scenarios   runs the scenarios made by hand, one line each; with --minutes, seeds after them
      --every N     interrupts scenarios at every Nth of their steps alone, from one on that the seed decides
      --scenario S  runs the scenario of this name, and prints what happens
    """

  static func main() {
    fixHashing()
    SQLiteLibrary.disableMemoryStatistics()
    do {
      let options = try Options(CommandLine.arguments.dropFirst())
      exit(try run(options) ? 0 : 1)
    } catch {
      say("\(error)\n\n\(usage)")
      exit(2)
    }
  }

  /// Restarts this program with deterministic hashing. Otherwise dictionaries have another order in each process.
  private static func fixHashing() {
    let name = "SWIFT_DETERMINISTIC_HASHING"
    if getenv(name) != nil { return }
    setenv(name, "1", 1)
    var arguments = CommandLine.arguments.map { strdup($0) }
    arguments.append(nil)
    execv(Bundle.main.executablePath ?? CommandLine.arguments[0], arguments)
    say("simulate could not start itself again: \(String(cString: strerror(errno)))")
    exit(2)
  }

  /// Runs seeds. Returns whether all passed.
  private static func run(_ options: Options) throws -> Bool {
    let disk = SimulatedDisk(now: { _ in 0 }, random: { 0 })
    disk.register(isDefault: true)
    let taken = TransitionCounts()
    Trace.observer = { taken.count($0) }
    let first = options.seed ?? UInt64(Date().timeIntervalSince1970 * 1000)
    if options.runsScenarios {
      let share = ScenarioRun.Share(every: options.every, first: Int(first % UInt64(options.every)))
      guard try ScenarioRun.all(named: options.scenario, share, on: disk) else { return false }
      if options.minutes == nil { return true }
    }
    let begin = ContinuousClock.now
    let limit = options.minutes.map { Duration.seconds($0 * 60) }
    say("first seed: \(first)")
    var (runs, syncs) = (0, 0)
    var seed = first
    while runs < options.seeds || limit.map({ ContinuousClock.now - begin < $0 }) == true {
      let result = try Run(plan(seed, options), on: disk, isVerbose: options.isVerbose)
      runs += 1
      syncs += result.syncs
      if !result.violations.isEmpty {
        say(
          "seed \(seed):\n"
            + result.violations.prefix(3).map { "\($0.invariant): \($0.text)" }.joined(separator: "\n"))
        let shrunken = options.keep == nil ? try result.shrunken(on: disk) : result
        say(shrunken.report(original: result))
        return false
      }
      if options.isVerbose { say("fingerprint: \(String(result.history.fingerprint, radix: 16))") }
      seed &+= 1
    }
    if options.showsCoverage { taken.report() }
    var rate = ""
    // The output for a single seed is the same each time, byte for byte.
    if runs > 1 {
      rate = ", \(Int(Double(syncs) / ((ContinuousClock.now - begin) / .seconds(1)))) a second"
    }
    say("\(runs) seeds, \(syncs) device-syncs\(rate); nothing was broken")
    return true
  }

  private static func plan(_ seed: UInt64, _ options: Options) -> Plan {
    var chance = Chance(seed: seed, 7)
    var plan = Plan(
      seed: seed, steps: options.steps ?? 40 + chance.below(260), isWide: options.isWide)
    plan.postgres = options.location.map { RealPostgres($0) }
    if let keep = options.keep { plan.commands.removeAll { !keep.contains($0.index) } }
    return plan
  }
}
