/// One pass over all that may be forgotten: docs/FORGETTING.md, section 2. It keeps nothing: each begins at the beginning.
struct ForgettingPass {
  /// How much is looked for at once.
  static let look = 200

  /// Looks for what may be forgotten, from a place on.
  let find: (_ kind: Forgettable.Kind, _ after: String) throws -> FoundForgettable
  /// Has a command forget; nil when it could not be done now.
  let forget: (Forgettable) throws -> Forgotten?

  /// Makes the pass.
  ///
  /// - Parameter kinds: what is looked for; everything unless given.
  func run(_ kinds: [Forgettable.Kind] = Forgettable.Kind.allCases) throws -> Forgotten {
    var all = Forgotten()
    for kind in kinds {
      var place: String? = ""
      while let after = place {
        let found = try find(kind, after)
        place = found.next
        for item in found.items {
          var goesOn = true
          while goesOn {
            let step = try forget(item)
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
}
