// Reading and writing with the client: bound SQL, selections, live results, one status.
import Foundation
import Holdfast

struct Note: Record {
  static let table = "notes"
  var id: String
  var title: String
  var done = false
  var likes = 0
  var tags: [String]?
}

// snippet.reading
func read(_ store: Store, _ words: String) async throws {
  // An interpolated value is bound: it never becomes a part of the text.
  let found = try await store.read { db in
    try db.fetch(Note.self, "SELECT * FROM \(Note.self) WHERE title LIKE \("%\(words)%") ORDER BY title")
  }
  // The common cases need no SQL.
  let open = Note.where(\.done == false && \.likes > 3).order(by: \.title).limit(20)
  let count = try await store.read { try $0.count(open) }
  print(found.count, count)
}
// snippet.end

// snippet.writing
func write(_ store: Store, _ note: Note) async throws {
  try await store.write { db in
    try db.upsert(note)  // only the columns that differ are edits
    try db.increment(Note.self, id: note.id, \.likes)  // increments of several devices add up
    try db.append(Note.self, id: note.id, \.tags, "garden")  // and elements come together
  }
}
// snippet.end

// snippet.live
func follow(_ store: Store) async throws {
  let open = Note.where(\.done == false).order(by: \.title)
  for try await notes in store.live(open) { print(notes.map(\.title)) }
}

@MainActor func show(_ store: Store) {
  let notes = store.liveQuery(Note.order(by: \.title))
  print(notes.value.count)  // there at once; a view that reads it is told of each change
}
// snippet.end

// snippet.status
@MainActor func showStatus(of engine: SyncEngine) throws {
  let status = try LiveStatus(of: engine)
  print(status.value.text)  // such as "3 changes wait"
  if status.value.needsSignIn { print("Sign in again. Nothing is lost.") }
}
// snippet.end

// snippet.background
func enterBackground(_ engine: SyncEngine) async { await engine.suspend() }
func enterForeground(_ engine: SyncEngine) async throws { try await engine.resume() }
// snippet.end
