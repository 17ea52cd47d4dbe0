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

  /// A part of the pass, from kind to kind.
  private struct Course {
    var kinds: ArraySlice<Purgeable.Kind>
    /// Where the search for the first kind continues.
    var place = ""

    /// Continues at a place, or with the next kind.
    mutating func goOn(at next: String?) {
      if next == nil { kinds = kinds.dropFirst() }
      place = next ?? ""
    }
  }

  /// Runs the pass. Erasures and all other purges take turns, search by search: a user with very many zones holds up no purge.
  ///
  /// - Parameter kinds: the kinds to search for; all by default.
  package func run(_ kinds: [Purgeable.Kind] = Purgeable.Kind.allCases) throws -> Purged {
    let erasures = kinds.filter { Purgeable.Kind.ofErasures.contains($0) }
    let others = kinds.filter { !Purgeable.Kind.ofErasures.contains($0) }
    var courses = [erasures, others].map { Course(kinds: $0[...]) }
    var all = Purged()
    while courses.contains(where: { !$0.kinds.isEmpty }) {
      for index in courses.indices {
        guard let kind = courses[index].kinds.first else { continue }
        let place = courses[index].place
        courses[index].goOn(at: try search(kind, after: place, &all))
      }
    }
    return all
  }

  /// Searches once, and purges what is found.
  ///
  /// - Returns: where to continue; nil at the end of the kind.
  private func search(_ kind: Purgeable.Kind, after place: String, _ all: inout Purged) throws -> String? {
    let found = try paced { try find(kind, place) }
    var next = found.next
    for item in found.items where try !purgeWhole(item, &all) {
      // The search by age has no place to continue from, and would find the same item again.
      if place.isEmpty, next == "" { next = nil }
    }
    return next
  }

  /// Purges an item, in as many steps as it takes.
  ///
  /// - Returns: false if a step was postponed.
  private func purgeWhole(_ item: Purgeable, _ all: inout Purged) throws -> Bool {
    while true {
      guard let step = try paced({ try purge(item) }) else {
        if case .together(let items) = item {
          return try items.reduce(true) { try purgeWhole($1, &all) && $0 }
        }
        all.add(Purged(postponed: 1))
        return false
      }
      all.add(step)
      if !step.hasMore { return true }
    }
  }

  /// Runs a step, and pauses for as long as it took, to leave time for other commands.
  private func paced<Result>(_ step: () throws -> Result) throws -> Result {
    let start = MonotonicTime.exact
    let result = try step()
    try pause(max(Self.breath, .milliseconds(MonotonicTime.exact.milliseconds - start.milliseconds)))
    return result
  }
}
