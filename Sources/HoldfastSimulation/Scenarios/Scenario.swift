import HoldfastCore

/// A failure that somebody had, made by hand: who writes what, which message is lost, which process dies.
struct Scenario {
  /// The row of the table in docs/SIMULATION.md.
  let name: String
  /// The invariants that it is about.
  let guards: String
  /// For each device, the number of its user.
  var users = [0, 0]
  /// Whether devices have streams of events; else they find things out by asking.
  var hasStreams = false
  /// The size of an answer from which on the server begins no further change.
  var answerSize = 4 << 20
  /// The greatest body of a request.
  var bodyLimit = 16 << 20
  /// What happens at each step of the disk in the critical section, in a run of its own.
  var troubles: [Command.Trouble] = [.kill, .crash]
  /// After how much work of a deletion the server lets others go first.
  var pieceWork = 100_000
  /// The transitions of the protocol that must have been taken.
  var takes: Set<Transition> = []
  let script: (Stage) throws -> Void

  static var all: [Scenario] {
    ExactlyOnceScenarios.all + CopyScenarios.all + InFlightScenarios.all + RefusalScenarios.all
      + ForeignProgramScenarios.all + ConflictScenarios.all + OrderingScenarios.all + RelationScenarios.all
      + RuleScenarios.all
      + AccessScenarios.all + DownloadScenarios.all
      + AnswerScenarios.all
      + FaultScenarios.all + ChangeScenarios.all + RemovalScenarios.all + InvitationScenarios.all
      + PushScenarios.all + RetentionScenarios.all + RestoreScenarios.all
  }
}

extension Plan {
  /// A world in which nothing happens by itself.
  init(_ scenario: Scenario) {
    seed = 1
    isWide = false
    users = scenario.users
    answerSize = scenario.answerSize
    changeSetBudget = .max
    pieceWork = scenario.pieceWork
    bodyLimit = scenario.bodyLimit
    longLog = 1000
    isPeaceful = false
    hasStreams = scenario.hasStreams
    hasClerks = false
    (commands, steps) = ([], 0)
  }
}
