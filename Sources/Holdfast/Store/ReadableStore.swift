public import HoldfastCore

/// What can be read and watched: a `Store`, or a `StoreFolder`, which reads the files of several databases as one.
///
/// ```swift
/// func openItems(in store: some ReadableStore) async throws -> [Item] {
///   try await store.read { try $0.fetch(Item.where(\.done == false)) }
/// }
/// ```
public protocol ReadableStore: AnyObject, Sendable {
  /// The schema.
  var schema: SyncSchema { get }
  /// Reads from a consistent state; see `Store.read`.
  func read<T: Sendable>(_ body: @escaping @Sendable (Database) throws -> T) async throws -> T
  /// Reads here and now; see `Store.readNow`.
  func readNow<T>(_ body: (Database) throws -> T) throws -> T
  /// What live queries need.
  var liveSupport: LiveSupport { get }
}

/// What live queries need of a store. A type of the app that stands before a store passes it on.
///
/// ```swift
/// final class Catalogue: Sendable {
///   let store: Store
///   var liveSupport: LiveSupport { store.liveSupport }
/// }
/// ```
public struct LiveSupport: Sendable {
  /// The reader whose turn it is.
  let reader: DatabaseQueue
  let changes: ChangeHub
  let environment: StoreEnvironment
  /// Begins to look for commits of other programs.
  let watchForeignWrites: @Sendable () -> Void
}

extension Store: ReadableStore {
  /// What live queries need of this store.
  public var liveSupport: LiveSupport {
    LiveSupport(reader: nextReader(), changes: changes, environment: environment) { [weak self] in
      self?.watchForeignWrites()
    }
  }
}
