public import HoldfastCore

extension Store {
  /// The transactions of this device that can be undone, the newest first. The last 100 are kept, with 4 MiB at the most; one that
  /// changed more than 1 MiB is not.
  ///
  /// - Parameter limit: at most so many.
  public func undoable(limit: Int = 100) async throws -> [UndoableTransaction] {
    try await readers[0].perform { try $0.undoable(limit: max(0, limit)) }
  }

  /// Takes a transaction of this device back, whether it was sent or not: writes, as a new one, what the records had before where nobody has
  /// changed them since. The new one can be undone in its turn. See docs/UNDO.md.
  ///
  /// - Parameter number: of the transaction; the last one that is neither an undo nor undone unless given.
  /// - Returns: what was undone, and what was left.
  /// - Throws: `StoreError.nothingToUndo` when there is none; `changeSetTooLarge`.
  @discardableResult
  public func undo(_ number: Int64? = nil) async throws -> UndoResult {
    try await writer.perform { try $0.undo(number) }
  }
}

/// A transaction of this device that can be undone.
public struct UndoableTransaction: Sendable, Hashable {
  /// So many records of one table to which the same was done.
  public struct Count: Sendable, Hashable {
    /// The name of the table.
    public let table: String
    /// What was done.
    public let kind: HoldfastCore.RecordOperation.Kind
    /// How many records.
    public internal(set) var records: Int
  }

  /// Its number.
  public let number: Int64
  /// When it was written, RFC 3339.
  public let at: String
  /// The number of the transaction that this one undid; nil when it is no undo.
  public let undoes: Int64?
  /// What it did.
  public let counts: [Count]
}

/// What came of an undo.
public struct UndoResult: Sendable, Hashable {
  /// Why something stays as it is.
  public enum Reason: Sendable, Hashable {
    /// Somebody, or a later transaction here, has changed it since.
    case changed
    /// The record is gone, or, when it was to come back, there again.
    case gone, returned
    /// Something that the transaction did not make refers to the record.
    case referred
    /// What it refers to is not here.
    case parentMissing
    /// A rule of the schema forbids the former value now, as another record has it.
    case forbidden
  }

  /// A record, or columns of it.
  public struct Change: Sendable, Hashable {
    /// What the transaction had done to the record.
    public let kind: HoldfastCore.RecordOperation.Kind
    /// The name of the table.
    public let table: String
    /// The id of the record.
    public let id: String
    /// The column; nil for a whole record.
    public let column: String?
  }

  /// Something that stays as it is.
  public struct Left: Sendable, Hashable {
    /// What.
    public let change: Change
    /// Why.
    public let reason: Reason
  }

  /// The number of the transaction.
  public let number: Int64
  /// What was undone.
  public internal(set) var undone: [Change] = []
  /// What was left.
  public internal(set) var left: [Left] = []
}
