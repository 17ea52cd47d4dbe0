import HoldfastHTTP

/// One pass over all that may be forgotten: docs/FORGETTING.md, section 2. It keeps nothing: each begins at the beginning.
struct ForgettingPass {
  /// How much is looked for at once.
  static let look = 200
  /// How long each pause is at least.
  private static let breath = Duration.milliseconds(5)

  /// Looks for what may be forgotten, from a place on.
  let find: (_ kind: Forgettable.Kind, _ after: String) throws -> FoundForgettable
  /// Has a command forget; nil when it could not be done now.
  let forget: (Forgettable) throws -> Forgotten?
  /// Lets time go by in which others write.
  var pause: (Duration) throws -> Void = { _ in }

  /// Makes the pass.
  ///
  /// - Parameter kinds: what is looked for; everything unless given.
  func run(_ kinds: [Forgettable.Kind] = Forgettable.Kind.allCases) throws -> Forgotten {
    var all = Forgotten()
    for kind in kinds {
      var place: String? = ""
      while let after = place {
        let found = try paced { try find(kind, after) }
        place = found.next
        for item in found.items {
          var goesOn = true
          while goesOn {
            let step = try paced { try forget(item) }
            all.add(step ?? Forgotten(postponed: 1))
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
