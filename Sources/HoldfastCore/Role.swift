/// A member's role in a zone. Each role includes the rights of the lower ones.
public enum Role: String, Comparable, Sendable, CaseIterable, Codable {
  /// Reads.
  case viewer
  /// Reads and writes records.
  case editor
  /// Also manages the members.
  case owner

  /// Whether `left` has fewer rights.
  public static func < (left: Role, right: Role) -> Bool { left.rank < right.rank }

  private var rank: Int {
    switch self {
    case .viewer: 0
    case .editor: 1
    case .owner: 2
    }
  }
}
