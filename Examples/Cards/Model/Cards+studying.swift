import Holdfast

// Studying. Each person's answers are counted in that person's own zone: see README.md.
extension Cards {
  /// How well a person knows a term.
  public struct Progress: Codable, Hashable, Sendable {
    /// The term.
    public let term: String
    /// How often it was known, on all devices of the person.
    public let known: Int
    /// How often it was missed.
    public let missed: Int
  }

  /// The progress of this device's user in a set; the argument is the set's id. For `Store.live` too.
  public static let progressOfSet = """
    SELECT t.term, coalesce(c.known, 0) AS known, coalesce(c.missed, 0) AS missed
    FROM terms t LEFT JOIN study_counts c ON c.term_id = t.id WHERE t.set_id = ? ORDER BY t.position, t.id
    """

  /// The progress of this device's user in a set.
  public func progress(of set: String) async throws -> [Progress] {
    try await store.read { try $0.fetch(Progress.self, Self.progressOfSet, [.text(set)]) }
  }

  /// Counts an answer. Two devices of a person that do so offline count both: they derive the same id for the record, and its columns are counters.
  ///
  /// - Throws: `CardsError.signedOut` on a device that never belonged to anybody.
  public func answer(_ term: String, isKnown: Bool) async throws {
    guard let user = try await store.account()?.user else { throw CardsError.signedOut }
    try await store.write { db in
      try db.increment(
        StudyCount.table, id: Identifier.derived(from: ["study count", user, term]),
        isKnown ? "known" : "missed", orCreate: ["term_id": .text(term)])
    }
  }

  /// The terms of a set in the order in which to study them: those that were missed most, and known least, first.
  public func termsToStudy(in set: String) async throws -> [Term] {
    try await store.read { db in
      try db.fetch(
        Term.self,
        """
        SELECT t.* FROM terms t LEFT JOIN study_counts c ON c.term_id = t.id WHERE t.set_id = ?
        ORDER BY coalesce(c.missed, 0) - coalesce(c.known, 0) DESC, t.position, t.id
        """, [.text(set)])
    }
  }
}
