/// Why a string isn't a position.
public struct PositionError: Error, Hashable, Sendable {
  /// The kind of fault. Compare it with the constants; new ones may be added.
  public struct Code: Hashable, Sendable {
    enum Fault: Hashable, Sendable { case empty, tooLong, malformed, ownReplicaSpelledOut, incomplete }
    let fault: Fault

    /// The string is empty.
    public static let empty = Self(fault: .empty)
    /// The string is longer than ``Position/maximumLength`` bytes.
    public static let tooLong = Self(fault: .tooLong)
    /// A byte is outside the alphabet, misplaced, or makes a number out of range.
    public static let malformed = Self(fault: .malformed)
    /// A step repeats its parent's replica instead of `-`.
    public static let ownReplicaSpelledOut = Self(fault: .ownReplicaSpelledOut)
    /// The string ends inside a step, or after a step that is no place.
    public static let incomplete = Self(fault: .incomplete)
  }

  /// The kind of fault.
  public let code: Code
  /// The offset of the offending byte, from 0.
  public let offset: Int

  init(_ code: Code, offset: Int) {
    self.code = code
    self.offset = offset
  }
}

extension PositionError: CustomStringConvertible {
  /// A sentence for people. It contains nothing of the string.
  public var description: String {
    switch code.fault {
    case .empty: "a position can't be empty"
    case .tooLong: "a position has at most \(Position.maximumLength) bytes"
    case .malformed: "not a position: unexpected byte at \(offset)"
    case .ownReplicaSpelledOut: "not a position: the replica at byte \(offset) should be written -"
    case .incomplete: "not a position: it ends too early, at byte \(offset)"
    }
  }
}
