/// One run of a plan, from an empty world to its end.
struct Run {
  let plan: Plan
  let violations: [Violation]
  let history: History
  let syncs: Int

  init(_ plan: Plan, on disk: SimulatedDisk, isVerbose: Bool = false) throws {
    let world = try World(plan, disk: disk, isVerbose: isVerbose)
    violations = world.run()
    (self.plan, history, syncs) = (plan, world.history, world.syncs)
    world.end()
  }

  /// Shrinks a failing plan to as few commands as possible. It leaves out long ranges first, then single commands.
  ///
  /// - Parameter attempts: the maximum number of runs.
  func shrunken(on disk: SimulatedDisk, attempts: Int = 400) throws -> Run {
    guard let invariant = violations.first?.invariant else { return self }
    var best = self
    var left = attempts
    var stretch = max(plan.commands.count / 2, 1)
    while left > 0 {
      var isSmaller = false
      var start = 0
      while start < best.plan.commands.count, left > 0 {
        var smaller = best.plan
        let end = min(start + stretch, smaller.commands.count)
        smaller.commands.removeSubrange(start..<end)
        left -= 1
        let run = try Run(smaller, on: disk)
        if run.violations.first?.invariant == invariant {
          best = run
          isSmaller = true
        } else {
          start = end
        }
      }
      if stretch == 1, !isSmaller { break }
      stretch = max(stretch / 2, 1)
    }
    return best
  }

  /// The violations, and the command to reproduce them.
  func report(original: Run) -> String {
    let kept = plan.commands.map { String($0.index) }.joined(separator: ",")
    var lines = ["seed \(plan.seed) breaks an invariant:"]
    lines += violations.prefix(5).map { "  \($0.invariant): \($0.text)" }
    lines.append("Shrunken from \(original.plan.commands.count) commands to \(plan.commands.count):")
    lines += history.lines.prefix { !$0.hasSuffix("# heal") }.suffix(120).map { "  \($0)" }
    lines.append(
      "Again: make sim SEED=\(plan.seed) STEPS=\(plan.steps) KEEP=\(kept.isEmpty ? "-" : kept)"
        + (plan.isWide ? " WIDE=yes" : "")
    )
    return lines.joined(separator: "\n")
  }
}
