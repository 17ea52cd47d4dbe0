public import HoldfastCore

/// A transaction of this device that can be undone.
///
/// ```swift
/// if let last = try await store.undoable(limit: 1).first { try await store.undo(last.number) }
/// ```
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
