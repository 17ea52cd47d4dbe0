/// Why the store could not do what it was asked for.
///
/// ```swift
/// do { try await engine.sync() } catch let error as StoreError where error.code == .offline {
///   print("Offline. The edits stay on this device, and are sent later.")
/// }
/// ```
public struct StoreError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What kind of error it is.
  public struct Code: Hashable, Sendable {
    private enum Kind: Sendable {
      case cannotOpen, notAHoldfastDatabase, databaseIsNewer, databaseIsBroken, schemaCannotChange,
        changeSetTooLarge
      case otherUser, unsentEdits, signedOut, recordMissing, notInList, valueUnfit, offline, refused
      case conflictResolved, operationRefused, nothingToUndo, uniqueTaken, closed, suspended
      case foreignObject, fileReplaced, busy, zoneAmbiguous
    }
    private let kind: Kind
    private init(_ kind: Kind) { self.kind = kind }

    /// There is no file at the path, and none can be made; or it may not be read and written.
    public static let cannotOpen = Code(.cannotOpen)
    /// The file is something else than a database of this library.
    public static let notAHoldfastDatabase = Code(.notAHoldfastDatabase)
    /// The file was made by a newer version of this library, or has a newer schema than the one it was opened with.
    public static let databaseIsNewer = Code(.databaseIsNewer)
    /// The file lacks what every such database has, or is damaged: see `Store.repair()` and `Store.rescue(from:)`.
    public static let databaseIsBroken = Code(.databaseIsBroken)
    /// Something that the app or another program has made in the file would stop, or change, what the server sends: a trigger or an index. The
    /// description names it.
    public static let foreignObject = Code(.foreignObject)
    /// The file, or the log beside it, was moved, replaced or deleted while the store had it open. Nothing was written. Open it again.
    public static let fileReplaced = Code(.fileReplaced)
    /// Another program holds the file for writing. The same may succeed later.
    public static let busy = Code(.busy)
    /// The schema changes what a database of an earlier one can't follow.
    public static let schemaCannotChange = Code(.schemaCannotChange)
    /// A transaction made more edits than one change set may hold.
    public static let changeSetTooLarge = Code(.changeSetTooLarge)
    /// The database belongs to another user.
    public static let otherUser = Code(.otherUser)
    /// There are edits that the server doesn't have yet.
    public static let unsentEdits = Code(.unsentEdits)
    /// Nobody is signed in.
    public static let signedOut = Code(.signedOut)
    /// There is no such record on the device.
    public static let recordMissing = Code(.recordMissing)
    /// A place is beside a record that is not in the list, or that is to be placed itself.
    public static let notInList = Code(.notInList)
    /// A value does not fit its column, or a row does not fit the type it was to be read as.
    public static let valueUnfit = Code(.valueUnfit)
    /// The server can't be reached, or has no time; try again later.
    public static let offline = Code(.offline)
    /// The server refused the request.
    public static let refused = Code(.refused)
    /// Somebody has chosen already which of two edits holds.
    public static let conflictResolved = Code(.conflictResolved)
    /// A rule of the schema refuses, on this device, an operation that was to be written again.
    public static let operationRefused = Code(.operationRefused)
    /// Two records of a zone have one unique value at the end of the transaction.
    public static let uniqueTaken = Code(.uniqueTaken)
    /// There is no transaction that could be undone, or none of this number.
    public static let nothingToUndo = Code(.nothingToUndo)
    /// Several databases of a folder have a zone of this id: see `StoreFolder.write(in:_:)`.
    public static let zoneAmbiguous = Code(.zoneAmbiguous)
    /// The store was closed.
    public static let closed = Code(.closed)
    /// The store is suspended: see `Store.suspend()`.
    public static let suspended = Code(.suspended)
  }

  /// What kind of error it is.
  public let code: Code
  /// What happened and what to do, for a person.
  public let description: String

  /// An error of its parts.
  public init(_ code: Code, _ description: String) {
    self.code = code
    self.description = description
  }
}
