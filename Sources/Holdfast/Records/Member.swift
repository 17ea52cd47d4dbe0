public import HoldfastCore

/// A member of a zone, or a group that is one: a record of the table `members`. See docs/SHARING.md.
///
/// ```swift
/// let members = Member.where(\.zone == list.id).order(by: \.name)
/// for try await members in store.live(members) { show(members.map(\.name)) }
/// try await store.write { try $0.insert(Member(id: $0.newID(), zone: list.id, name: "bob", role: .editor)) }
/// ```
public struct Member: Record, Hashable, Identifiable {
  /// The name of the table.
  public static let table = "members"

  /// The id of the record.
  public var id: String
  /// The zone.
  public var zone: String
  /// The id of the user; nil for a group, and for a member who was named and whom the server has not found yet.
  public var user: String?
  /// The name of the user's account; nil for a group.
  public var name: String?
  /// What the member may do.
  public var role: Role
  /// The zone whose members are meant; nil for a user.
  public var group: String?
  /// The id of the user who invited this one, until the invitation is accepted. Only the server writes it.
  public let invitedBy: String?

  /// Whether the member has not accepted yet.
  public var isPending: Bool { invitedBy != nil }

  /// A new member of a zone; name the user by `user` or `name`, or name a `group`.
  public init(
    id: String, zone: String, user: String? = nil, name: String? = nil, role: Role, group: String? = nil
  ) {
    (self.id, self.zone, self.user, self.name) = (id, zone, user, name)
    (self.role, self.group, invitedBy) = (role, group, nil)
  }

  enum CodingKeys: String, CodingKey {
    case id, zone, user, name, role, group
    case invitedBy = "invited_by"
  }
}
