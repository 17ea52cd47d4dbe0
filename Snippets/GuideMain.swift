// The program of docs/GUIDE.md, section 3, around the app in Groceries.swift.

// snippet.main
import Foundation
import Holdfast

let arguments = CommandLine.arguments
guard arguments.count > 2, let server = URL(string: "http://127.0.0.1:8080") else {
  print("Usage: Groceries FILE sign-up|sign-in|add|show [ITEM…]")
  exit(64)
}
let schema = try SyncSchema(json: PackageResources.holdfast_json)
let store = try Store(path: arguments[1], schema: schema)
let app = Groceries(store: store, engine: SyncEngine(store: store, server: server))

switch arguments[2] {
case "sign-up": try await app.engine.signUp(name: "ann", password: "correct-horse", device: arguments[1])
case "sign-in": try await app.engine.signIn(name: "ann", password: "correct-horse", device: arguments[1])
case "add": try await app.add(Array(arguments.dropFirst(3)))
default: break
}
do { try await app.engine.sync() } catch { print("Not synced: \(error)") }
print(try await app.open().joined(separator: ", "))
// snippet.end

/// Stands for that of Groceries.swift.
struct Groceries: Sendable {
  let store: Store
  let engine: SyncEngine
  func add(_ titles: [String]) async throws {}
  func open() async throws -> [String] { [] }
}

/// What SwiftPM makes of `.embedInCode("holdfast.json")`.
enum PackageResources { static let holdfast_json: [UInt8] = [] }
