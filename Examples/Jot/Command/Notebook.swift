import Foundation
import Holdfast
import Synchronization

/// The database of this device, and the server that it syncs with.
struct Notebook: Sendable {
  let path: String
  let store: Store
  private let givenServer: String?

  /// Opens the database, and makes it when it isn't there.
  init(path: String, server: String?, seed: URL?) throws {
    self.path = path
    givenServer = server
    let store = try Store(path: path, schema: try Self.schema(), seed: seed)
    self.store = store
    Self.opened.withLock { $0.append(store) }
  }

  private static let opened = Mutex<[Store]>([])

  /// Closes what was opened; its file is whole then.
  static func close() async {
    let stores = opened.withLock { stores in
      defer { stores = [] }
      return stores
    }
    for store in stores { await store.close() }
  }

  static func schema() throws -> SyncSchema { try SyncSchema(json: PackageResources.holdfast_json) }

  // MARK: The server

  /// Beside the database stands the address of the server that was used last.
  private var serverFile: String { path + ".server" }

  /// The address of the server: as given, or the one used last.
  var serverAddress: String? {
    givenServer ?? rememberedServer
  }

  private var rememberedServer: String? {
    (try? String(contentsOfFile: serverFile, encoding: .utf8))?.trimmingCharacters(
      in: .whitespacesAndNewlines)
  }

  /// An engine for the database and its server.
  ///
  /// - Throws: `Failure` when no server is known.
  func engine() throws -> SyncEngine {
    guard let address = serverAddress else {
      throw Failure(.usage, "Which server? Say --server URL or set JOT_SERVER; it is remembered.")
    }
    guard let url = URL(string: address), url.host() != nil, ["http", "https"].contains(url.scheme) else {
      throw Failure(.usage, "\"\(address)\" is no address of a server, such as https://sync.example.org.")
    }
    return SyncEngine(store: store, server: url, app: "jot 1")
  }

  /// Keeps the server that was given for the next time.
  func rememberServer() throws {
    guard let givenServer, givenServer != rememberedServer else { return }
    try (givenServer + "\n").write(toFile: serverFile, atomically: true, encoding: .utf8)
  }
}
