import HoldfastConcurrency

/// One retention pass: docs/RETENTION.md, section 2. It has no stored state; each pass starts from the beginning.
package struct RetentionPass {
  /// The minimum length of a pause.
  private static let breath = Duration.milliseconds(5)

  /// Searches for purgeable data from a place on.
  package let find: (_ kind: Purgeable.Kind, _ after: String) throws -> FoundPurgeable
  /// Runs a purge command; nil if it was postponed.
  package let purge: (Purgeable) throws -> Purged?

  /// Pauses, so that other commands can write.
  package var pause: (Duration) throws -> Void = { _ in }

  package init(
    find: @escaping (_ kind: Purgeable.Kind, _ after: String) throws -> FoundPurgeable,
    purge: @escaping (Purgeable) throws -> Purged?, pause: @escaping (Duration) throws -> Void = { _ in }
  ) {
    (self.find, self.purge, self.pause) = (find, purge, pause)
  }

  /// Runs the pass.
  ///
  /// - Parameter kinds: the kinds to search for; all by default.
  package func run(_ kinds: [Purgeable.Kind] = Purgeable.Kind.allCases) throws -> Purged {
    var all = Purged()
    for kind in kinds {
      var place: String? = ""
      while let after = place {
        let found = try paced { try find(kind, after) }
        place = found.next
        for item in found.items {
          var goesOn = true
          while goesOn {
            let step = try paced { try purge(item) }
            all.add(step ?? Purged(postponed: 1))
            // The search by age has no place to continue from, and would find the same item again.
            if step == nil, after.isEmpty, place == "" { place = nil }
            goesOn = step?.hasMore ?? false
          }
        }
      }
    }
    return all
  }

  /// Runs a step, and pauses for as long as it took, to leave time for other commands.
  private func paced<Result>(_ step: () throws -> Result) throws -> Result {
    let start = MonotonicTime.exact
    let result = try step()
    try pause(max(Self.breath, .milliseconds(MonotonicTime.exact.milliseconds - start.milliseconds)))
    return result
  }
}
