public import HoldfastCore
public import HoldfastSQLite

/// Two concurrent edits: a record of the table `conflicts`, which the server makes. See PROTOCOL.md, section 5.1.
///
/// ```swift
/// for conflict in try await store.read({ try $0.conflicts(onlyOpen: true) }) {
///   try await store.write { try $0.resolve(conflict, taking: .loser) }
/// }
/// ```
public struct Conflict: Record, Hashable {
  /// The name of the table.
  public static let table = "conflicts"

  /// One of the two edits.
  public struct Side: Sendable, Hashable {
    /// The value, as it was sent; nil stands for null, for the value of a deletion, and for a winner that is in the record.
    public let value: JSONValue?
    /// The id of the user who wrote it; nil when it is not known.
    public let user: String?
    /// The id of the device that wrote it; nil when it is not known.
    public let device: String?
    /// When it was made, RFC 3339; nil for a winner that is in the record.
    public let at: String?
  }

  /// What a person may say of a conflict.
  public enum Choice: Sendable, Hashable {
    /// The value that was kept is right. Of a deletion: the record stays deleted.
    case winner
    /// The value that was not kept is right. Of a deletion: the record comes back with all values that the log has of it.
    case loser
    /// Neither is; this value is, in the form that SQLite keeps it (JSON as its text).
    case value(SQLiteValue)
  }

  /// How a conflict was closed.
  public enum Resolution: String, Codable, CaseIterable, Sendable {
    /// The value that was kept holds.
    case winner
    /// The value that was not kept at first holds.
    case loser
    /// Another value holds.
    case other
  }

  /// The id of the conflict.
  public let id: String
  /// The zone of the record that it is about.
  public let zone: String?
  /// The table of the record.
  public let recordTable: String
  /// The id of the record.
  public let recordID: String
  /// The column.
  public let column: String
  /// The policy that decided; `delete` when the record was deleted.
  public let policy: String
  /// How it was closed; nil as long as nobody has chosen.
  public let resolution: Resolution?
  /// The id of the user who chose; nil until the server has confirmed it.
  public let resolvedBy: String?
  /// When the choice reached the server, RFC 3339; nil until it is confirmed.
  public let resolvedAt: String?

  private let baseText: String?
  private let winnerValue: String?
  private let winnerUser: String?
  private let winnerDevice: String?
  private let winnerAt: String?
  private let loserValue: String?
  private let loserUser: String?
  private let loserDevice: String?
  private let loserAt: String?

  enum CodingKeys: String, CodingKey {
    case id, zone, column = "column_name", policy, resolution
    case recordTable = "record_table"
    case recordID = "record_id"
    case baseText = "base"
    case resolvedBy = "resolved_by"
    case resolvedAt = "resolved_at"
    case winnerValue = "winner_value"
    case winnerUser = "winner_user"
    case winnerDevice = "winner_device"
    case winnerAt = "winner_at"
    case loserValue = "loser_value"
    case loserUser = "loser_user"
    case loserDevice = "loser_device"
    case loserAt = "loser_at"
  }

  /// The value that both edits began from; nil when it was null or is not known.
  public var base: JSONValue? { Self.value(baseText) }
  /// The edit that was kept, or, where both were combined, the later one.
  public var winner: Side {
    Side(value: Self.value(winnerValue), user: winnerUser, device: winnerDevice, at: winnerAt)
  }
  /// The other one.
  public var loser: Side {
    Side(value: Self.value(loserValue), user: loserUser, device: loserDevice, at: loserAt)
  }
  /// Whether the record was deleted while somebody edited it.
  public var isDeletion: Bool { policy == "delete" }
  /// Whether the log does not have the winner's value, as it is long and the record had it already: see the record as it is now.
  public var isWinnerInRecord: Bool { !isDeletion && winnerAt == nil }
  /// Whether it is a question that waits for a person: of a column whose policy is `ask`, and not answered.
  public var isOpen: Bool { policy == MergePolicy.ask.rawValue && resolution == nil }

  private static func value(_ text: String?) -> JSONValue? { text.flatMap { try? JSONValue(parsing: $0) } }

  /// Reads them oldest first.
  static func query(onlyOpen: Bool) -> String {
    let open = onlyOpen ? "WHERE policy = 'ask' AND resolution IS NULL" : ""
    return "SELECT * FROM conflicts \(open) ORDER BY coalesce(loser_at, winner_at), id"
  }
}
