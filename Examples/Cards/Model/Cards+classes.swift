import Holdfast

// Classes: groups of people, with whom sets are shared.
extension Cards {
  /// A class with its people, as far as this device's user may see them.
  public struct ClassSummary: Hashable, Identifiable, Sendable {
    /// The class's id, which is its zone.
    public let id: String
    /// Its name.
    public let name: String
    /// The names of its people; of one who was just added, nothing is known before the next sync.
    public let people: [String]
    /// The titles of the sets that are shared with it.
    public let titles: [String]
  }

  /// Makes a class, of which this device's user is the owner.
  ///
  /// - Returns: the id.
  @discardableResult
  public func makeClass(_ name: String) async throws -> String {
    try await store.write { db in
      let made = Class(id: db.newID(), name: name)
      try db.insert(made)
      return made.id
    }
  }

  /// The classes of this device's user.
  public func classes() async throws -> [ClassSummary] {
    try await store.read { db in
      try db.fetch(Class.self, "SELECT * FROM classes ORDER BY name, id").map { found in
        ClassSummary(
          id: found.id, name: found.name,
          people: try db.fetch(
            String.self, "SELECT coalesce(name, '?') FROM members WHERE zone = ? ORDER BY name, id",
            [.text(found.id)]),
          titles: try db.fetch(
            String.self,
            """
            SELECT DISTINCT s.title FROM members m JOIN study_sets s ON s.id = m.zone
            WHERE m."group" = ? ORDER BY s.title
            """, [.text(found.id)]))
      }
    }
  }

  /// Shares a set with a class: whoever is in the class now or later has it. Takes an owner of both; works without a network.
  ///
  /// - Parameter canEdit: whether the people of the class may change it.
  public func share(set: String, with group: String, canEdit: Bool) async throws {
    try await store.write { db in
      try db.execute(
        #"INSERT INTO members (id, zone, "group", role) VALUES (?, ?, ?, ?)"#,
        [.text(db.newID()), .text(set), .text(group), .text(canEdit ? "editor" : "viewer")])
    }
  }

  /// Takes a set back from a class: it leaves the devices of its people.
  public func unshare(set: String, from group: String) async throws {
    try await store.write { db in
      try db.execute(
        #"DELETE FROM members WHERE zone = ? AND "group" = ?"#, [.text(set), .text(group)])
    }
  }

  /// Makes a link to a class. Takes a connection.
  ///
  /// - Parameters:
  ///   - asTeacher: whether who joins may share sets with the class and invite others.
  ///   - uses: how many people may join with it.
  /// - Returns: what is passed on.
  public func invite(to group: String, asTeacher: Bool = false, uses: Int = 30) async throws -> String {
    try await requireEngine().invite(to: group, role: asTeacher ? .owner : .viewer, uses: uses).token
  }

  /// Joins a class by a link. Its sets come with the next sync. Takes a connection.
  public func join(_ token: String) async throws {
    _ = try await requireEngine().accept(invitation: token)
  }
}
