// Several databases on one device, read as one.
import Foundation
import Holdfast

struct GroceryList: Record {
  static let table = "lists"
  var id: String
  var title: String
}

struct Item: Record {
  static let table = "items"
  var id: String
  var list_id: String
  var title: String
  var position = ""
}

func open(_ path: String, schema: SyncSchema, school: URL) async throws {
  // snippet.folder
  let folder = try StoreFolder(path: path, schema: schema)
  try await folder.add("school", server: school)
  let lists = try await folder.read { try $0.fetch(GroceryList.order(by: \.title)) }  // of all databases
  try await folder.write { try $0.insert(GroceryList(id: $0.newID(), title: "New")) }  // at home
  if let list = lists.first {
    try await folder.write(in: list.id) { db in  // in the file that has the zone
      try db.insert([Item(id: db.newID(), list_id: list.id, title: "Milk")], at: .last)
    }
  }
  // snippet.end
}

func sync(_ folder: StoreFolder, home: URL, _ password: String, _ other: String) async throws {
  // snippet.engine
  let engine = FolderEngine(folder: folder, server: home, app: "groceries 1.0")
  try await engine.engine(of: "home")?.signIn(name: "ann", password: password, device: "Ann's phone")
  try await engine.engine(of: "school")?.signIn(name: "ann.b", password: other, device: "Ann's phone")
  Task { await engine.run() }
  for await status in engine.statuses {
    print(status.text)  // "Synced", "Offline: 3 changes wait (school)", …
    if !status.needsSignIn.isEmpty { print("Sign in to \(status.needsSignIn).") }
  }
  // snippet.end
}

func guest(_ folder: StoreFolder, home: URL, _ password: String, invitation token: String) async throws {
  // snippet.directory
  let engine = FolderEngine(folder: folder, server: home, app: "groceries 1.0")
  try await engine.signIn(name: "ann", password: password, device: "Ann's phone")
  _ = try await engine.join("school").accept(invitation: token)  // a link of another database
  Task { await engine.run() }
  // snippet.end
}
