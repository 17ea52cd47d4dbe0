public import Foundation
import HoldfastCore

/// A database of a `StoreFolder`, as it is on this device.
///
/// ```swift
/// for database in folder.databases {
///   if case .failed(let error) = database.state { print("\(database.name) is not here: \(error)") }
/// }
/// ```
public struct FolderDatabase: Sendable, Hashable {
  /// What is done with a database.
  public enum State: Sendable, Hashable {
    /// Its file is open: it is read, written and synced.
    case open
    /// There are more databases than one connection can read. It is neither read nor synced until another one has left.
    case withheld
    /// Its file can't be opened or read. The others go on. Once the reason is seen to, call `StoreFolder.reload()`.
    case failed(StoreError)
  }

  /// The name: that of the file without `.db`.
  public let name: String
  /// The address of its servers; nil for home, and where the app has not said it.
  public let server: URL?
  /// What is done with it.
  public let state: State
}
