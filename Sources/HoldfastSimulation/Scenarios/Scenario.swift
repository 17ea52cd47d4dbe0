import HoldfastCore

/// A scripted failure: the edits, the lost messages and the killed processes.
struct Scenario {
  /// The row of the table in docs/SIMULATION.md.
  let name: String
  /// The invariants that it tests.
  let guards: String
  /// For each device, the number of its user.
  var users = [0, 0]
  /// Whether devices have event streams; otherwise they poll.
  var hasStreams = false
  /// The size in bytes at which an answer is full.
  var answerSize = 4 << 20
  /// The maximum size of a request's body.
  var bodyLimit = 16 << 20
  /// The troubles that interrupt the critical section: each at every step of the disk, in a branch of the run.
  var troubles: [Command.Trouble] = [.kill, .crash]
  /// The amount of work of a deletion after which the server lets others go first.
  var pieceWork = 100_000
  /// The transitions of the protocol that must occur.
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
  /// A plan without commands.
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
