public import HoldfastCore

/// What came of an undo.
///
/// ```swift
/// let result = try await store.undo()
/// for left in result.left { print(left.change.table, left.reason) }
/// ```
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
