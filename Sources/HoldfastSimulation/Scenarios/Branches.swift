import Foundation
import HoldfastCore

/// The runs that branch off an undisturbed one. Each is a copy of this process (`fork`), which has the same world in its memory, and goes on
/// with a trouble. So the way to the critical section is gone once, and not once for each of its steps.
struct Branches {
  let troubles: [Command.Trouble]
  let share: ScenarioRun.Share
  /// The runs so far.
  private(set) var count = 0
  /// The interruption of the first run that broke something.
  private(set) var broken: Stage.Interruption?
  /// Whether this process is a branch.
  private(set) var isBranch = false
  /// The moments of each trouble so far.
  private var moments: [Int]
  private var before: TextMap<SimulatedDisk.Step.Kind> = [:]

  init(troubles: [Command.Trouble], share: ScenarioRun.Share) {
    (self.troubles, self.share) = (troubles, share)
    moments = Array(repeating: 0, count: troubles.count)
  }

  /// Branches off at a step, counted from 1, once for each trouble that is to be tried there.
  ///
  /// - Returns: the trouble of this process, if it is one of the branches.
  mutating func branch(at step: SimulatedDisk.Step, _ number: Int) -> Stage.Interruption? {
    let last = before[step.process.machine]
    before[step.process.machine] = step.kind
    return branch(at: number) { $0.isMoment(step.kind, after: last) }
  }

  /// Branches off at the end of a critical section.
  mutating func branchAtEnd(_ number: Int) -> Stage.Interruption? {
    number == 1 ? nil : branch(at: number) { $0 == .kill || $0 == .crash }
  }

  private mutating func branch(
    at number: Int, where isMoment: (Command.Trouble) -> Bool
  ) -> Stage.Interruption? {
    for (index, trouble) in troubles.enumerated() where !isBranch && isMoment(trouble) {
      moments[index] += 1
      guard share.has(moments[index] - 1), broken == nil else { continue }
      let interruption = Stage.Interruption(trouble: trouble, step: number)
      count += 1
      let process = fork()
      if process == 0 {
        isBranch = true
        return interruption
      }
      if Self.status(of: process) != 0 { broken = interruption }
    }
    return nil
  }

  /// Waits for the end of a branch.
  private static func status(of process: pid_t) -> Int32 {
    if process < 0 { fatalError("A run can't branch: \(String(cString: strerror(errno)))") }
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0, errno == EINTR {}
    return status
  }

  /// Ends this process, if it is a branch.
  func endIfBranch(isBroken: Bool) {
    if isBranch { _exit(isBroken ? 1 : 0) }
  }
}

extension Command.Trouble {
  /// Whether the trouble at a step leaves another state than at the step of the machine before; only these are tried.
  ///
  /// Reads and locks leave no state. Consecutive writes count as one, because SQLite trusts the first ones only when the last is there. The
  /// possible states of a power failure before a sync include those before the writes that it would have made durable. I/O errors are tried
  /// only at writes, syncs and changes of names.
  fileprivate func isMoment(
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
