public import HoldfastSQLite

/// How a store uses memory, and what it leaves to the app.
///
/// ```swift
/// let store = try Store(path: path, schema: schema, options: .appExtension)  // in a widget
/// ```
public struct StoreOptions: Sendable {
  /// How many bytes of the file each connection may keep in memory; 32 MiB unless given.
  public var cacheSize: Int
  /// How many connections read beside the one that writes: 1 to 16; 2 unless given.
  public var readers: Int
  /// Where the session's token is kept in place of the database; nil for the database.
  public var tokens: (any TokenStorage)?
  /// Runs before the tables of a file are brought to another schema, in the same transaction. Drop here the app's own indexes, views and triggers that
  /// use columns which the new schema does not have any more: with them in place the file is not opened (`StoreError.schemaCannotChange`).
  public var beforeSchemaChange: (@Sendable (SQLiteConnection) throws -> Void)?

  /// Options of their parts.
  public init(
    cacheSize: Int = 32 << 20, readers: Int = 2, tokens: (any TokenStorage)? = nil,
    beforeSchemaChange: (@Sendable (SQLiteConnection) throws -> Void)? = nil
  ) {
    (self.cacheSize, self.readers) = (cacheSize, readers)
    (self.tokens, self.beforeSchemaChange) = (tokens, beforeSchemaChange)
  }

  /// For a process that may use little memory, as an extension of an app: caches of 2 MiB, one reader.
  public static var appExtension: StoreOptions { StoreOptions(cacheSize: 2 << 20, readers: 1) }
}

/// Where the token of a session is kept outside of the database: the keychain, for one (`KeychainTokens`).
///
/// With a storage the token is never in the database, nor in a copy or a backup of it. Several processes that use one database use one storage.
/// ```swift
/// let store = try Store(path: path, schema: schema, options: StoreOptions(tokens: KeychainTokens(service: "org.example.app")))
/// ```
public protocol TokenStorage: Sendable {
  /// The token of a device's session; nil when there is none.
  ///
  /// - Throws: when the storage can't be read now, as with a locked phone; nothing is synced then, and nothing is lost.
  func token(for device: String) throws -> String?
  /// Keeps the token of a device's session in place of the one before; nil removes it.
  func save(_ token: String?, for device: String) throws
}
