public import Holdfast

// Sets and their terms, the own folders, and the catalogue.
extension Cards {
  /// A set as lists show it.
  public struct SetSummary: Codable, Hashable, Identifiable, Sendable {
    /// The set's id.
    public let id: String
    /// Its title.
    public let title: String
    /// Its subject.
    public let subject: StudySet.Subject
    /// How many terms it has.
    public let count: Int
  }

  /// All sets on the device, for `Store.live` too.
  public static let allSets = """
    SELECT s.id, s.title, s.subject, (SELECT count(*) FROM terms WHERE set_id = s.id) AS count
    FROM study_sets s ORDER BY s.title, s.id
    """

  /// The terms of a set in their order; the argument is the set's id.
  public static let termsOfSet = "SELECT * FROM terms WHERE set_id = ? ORDER BY position, id"

  /// All sets on the device: the own ones and those of the classes.
  public func sets() async throws -> [SetSummary] {
    try await store.read { try $0.fetch(SetSummary.self, Self.allSets) }
  }

  /// The terms of a set, in their order.
  public func terms(of set: String) async throws -> [Term] {
    try await store.read { try $0.fetch(Term.self, Self.termsOfSet, [.text(set)]) }
  }

  /// Makes a set with its terms: all of it reaches the other devices, or nothing.
  ///
  /// - Returns: the id.
  @discardableResult
  public func makeSet(
    _ title: String, _ terms: [(term: String, definition: String)], subject: StudySet.Subject = .other
  ) async throws -> String {
    try await store.write { db in
      let set = StudySet(id: db.newID(), title: title, subject: subject)
      try db.insert(set)
      try db.insert(
        terms.map { Term(id: db.newID(), setID: set.id, term: $0.term, definition: $0.definition) }, at: .last
      )
      return set.id
    }
  }

  /// Adds a term to a set.
  public func add(_ term: String, _ definition: String, to set: String, at place: Place = .last) async throws
  {
    try await store.write { db in
      try db.insert([Term(id: db.newID(), setID: set, term: term, definition: definition)], at: place)
    }
  }

  /// Changes the definition of a term. Where somebody else changes it meanwhile, a person chooses: see `Database.conflicts`.
  public func define(_ term: String, as definition: String) async throws {
    try await store.write { try $0.update(Term.self, id: term) { $0.definition = definition } }
  }

  /// Moves terms to a place in their set, next to each other.
  public func move(_ terms: [String], to place: Place) async throws {
    try await store.write { try $0.move(Term.self, ids: terms, to: place) }
  }

  /// Deletes a term.
  public func remove(term: String) async throws {
    try await store.write { try $0.delete(Term.self, id: term) }
  }

  /// Deletes a set, for all who have it.
  public func remove(set: String) async throws {
    try await store.write { try $0.delete(StudySet.self, id: set) }
  }

  // MARK: Folders

  /// Puts sets into an own folder, which is made where there is none of the name. Only the own devices see it, whoever owns the sets.
  public func file(_ sets: [String], under name: String) async throws {
    try await store.write { db in
      let known = try db.first(Folder.self, "SELECT * FROM folders WHERE name = ?", [.text(name)])
      let folder = known?.id ?? db.newID()
      if known == nil { try db.insert(Folder(id: folder, name: name)) }
      for set in sets { try db.insert(FolderSet(id: db.newID(), folderID: folder, setID: set)) }
    }
  }

  /// The own folders with the titles of their sets. A set that left the device is left out.
  public func folders() async throws -> [(name: String, titles: [String])] {
    try await store.read { db in
      try db.fetch(Folder.self, "SELECT * FROM folders ORDER BY name, id").map { folder in
        let titles = try db.fetch(
          String.self,
          """
          SELECT DISTINCT s.title FROM folder_sets f JOIN study_sets s ON s.id = f.set_id
          WHERE f.folder_id = ? ORDER BY s.title
          """, [.text(folder.id)])
        return (folder.name, titles)
      }
    }
  }

  // MARK: The catalogue

  /// The sets of the catalogue, which came with the app and are kept up to date by the sync.
  public func catalogue() async throws -> [CatalogueSet] {
    try await store.read {
      try $0.fetch(CatalogueSet.self, "SELECT * FROM catalogue_sets ORDER BY title, id")
    }
  }

  /// Makes an own set of one of the catalogue, to be changed, shared and studied.
  ///
  /// - Returns: the id of the new set.
  public func copy(catalogueSet id: String) async throws -> String {
    let found = try await store.read { db in
      (
        set: try db.find(CatalogueSet.self, id: id),
        terms: try db.fetch(
          CatalogueTerm.self, "SELECT * FROM catalogue_terms WHERE set_id = ? ORDER BY position, id",
          [.text(id)])
      )
    }
    guard let set = found.set else { throw CardsError.notFound("set in the catalogue") }
    return try await makeSet(set.title, found.terms.map { ($0.term, $0.definition) })
  }

  /// Puts a copy of a set into the catalogue. The server lets only its editors do so: `holdfast zones grant catalogue NAME editor`.
  public func publish(set id: String) async throws {
    let terms = try await terms(of: id)
    try await store.write { db in
      guard let set = try db.find(StudySet.self, id: id) else { throw CardsError.notFound("set") }
      let copy = CatalogueSet(id: db.newID(), title: set.title, about: set.about)
      try db.insert(copy)
      try db.insert(
        terms.map { CatalogueTerm(id: db.newID(), setID: copy.id, term: $0.term, definition: $0.definition) },
        at: .last)
    }
  }
}
