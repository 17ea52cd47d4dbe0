public import Foundation
public import Holdfast

/// The flash cards of one device: what the terminal and the SwiftUI app do, each in one call.
///
/// ```swift
/// let cards = Cards(store: try Store(path: path, schema: .cards(), seed: catalogue), server: url)
/// let set = try await cards.makeSet("Capitals", [("France", "Paris")])
/// ```
public struct Cards: Sendable {
  /// The device's database, for live queries.
  public let store: Store
  /// Syncs it; nil for a device that has no server yet.
  public let engine: SyncEngine?

  /// Cards over a store and an engine, such as those of a test's device.
  public init(store: Store, engine: SyncEngine?) { (self.store, self.engine) = (store, engine) }

  /// Cards over a store and the address of a server.
  public init(store: Store, server: URL?) {
    self.init(store: store, engine: server.map { SyncEngine(store: store, server: $0, app: "cards 1") })
  }

  /// The engine.
  ///
  /// - Throws: `CardsError.noServer` on a device that has none.
  public func requireEngine() throws -> SyncEngine {
    guard let engine else { throw CardsError.noServer }
    return engine
  }
}

/// Why something can't be done, for the person who asked.
public enum CardsError: Error, Hashable, CustomStringConvertible {
  /// No server is known.
  case noServer
  /// Nobody is signed in, and studying is counted for a person.
  case signedOut
  /// There is nothing of this name.
  case notFound(String)
  /// There are several, which are named with their ids.
  case several(String, [String])

  /// What is wrong, and what to do.
  public var description: String {
    switch self {
    case .noServer: "Which server? Say --server URL or set CARDS_SERVER."
    case .signedOut: "Studying is counted for a person. Sign in first; after that it works without a network."
    case .notFound(let name): "There is no \(name). Give its title, the beginning of it, or an id."
    case .several(let name, let matches):
      "There is more than one \(name). Give the whole title, or an id:\(matches.map { "\n  \($0)" }.joined())"
    }
  }
}
