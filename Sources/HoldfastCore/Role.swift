/// What a member may do in a zone. Each role may do what the lesser ones may.
public enum Role: String, Comparable, Sendable, CaseIterable, Codable {
  /// Reads.
  case viewer
  /// Reads and writes records.
  case editor
  /// Also decides who is a member.
  case owner

  /// Whether the left role may do less.
  public static func < (left: Role, right: Role) -> Bool { left.rank < right.rank }

  private var rank: Int {
    switch self {
    case .viewer: 0
    case .editor: 1
    case .owner: 2
    }
  }
}
