import HoldfastConcurrency

/// One pass over all that may be purged: docs/RETENTION.md, section 2. It keeps nothing: each begins at the beginning.
package struct RetentionPass {
  /// How long each pause is at least.
  private static let breath = Duration.milliseconds(5)

  /// Looks for what may be purged, from a place on.
  package let find: (_ kind: Purgeable.Kind, _ after: String) throws -> FoundPurgeable
  /// Has a command purge; nil when it could not be done now.
  package let purge: (Purgeable) throws -> Purged?

  /// Lets time go by in which others write.
  package var pause: (Duration) throws -> Void = { _ in }

  package init(
    find: @escaping (_ kind: Purgeable.Kind, _ after: String) throws -> FoundPurgeable,
    purge: @escaping (Purgeable) throws -> Purged?, pause: @escaping (Duration) throws -> Void = { _ in }
  ) {
    (self.find, self.purge, self.pause) = (find, purge, pause)
  }

  /// Makes the pass.
  ///
  /// - Parameter kinds: what is looked for; everything unless given.
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
            // What is found by its age alone would be found again at once.
            if step == nil, after.isEmpty, place == "" { place = nil }
            goesOn = step?.hasMore ?? false
          }
        }
      }
    }
    return all
  }

  /// Takes a step, and pauses for as long as it took: others come first.
  private func paced<Result>(_ step: () throws -> Result) throws -> Result {
    let start = MonotonicTime.exact
    let result = try step()
    try pause(max(Self.breath, .milliseconds(MonotonicTime.exact.milliseconds - start.milliseconds)))
    return result
  }
}
