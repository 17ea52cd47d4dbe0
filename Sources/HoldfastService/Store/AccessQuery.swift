package import HoldfastCore

/// The SQL query that computes each user's role in each zone from `members` and groups. Each engine passes its own table names. The
/// triggers write `access` with it, and the doctor compares `access` with it. docs/SHARING.md, section 1.
package struct AccessQuery {
  /// The name of `members`, and of the table of users who have left a zone.
  package let members: String
  package let left: String
  /// An SQL condition: the zone that a row `m` of `members` names as its group is not deleted.
  package let isLive: String

  package init(members: String, left: String, isLive: String) {
    (self.members, self.left, self.isLive) = (members, left, isLive)
  }

  /// Selects `zone`, `account` and `level`: the greatest level that members and groups grant.
  ///
  /// - Parameter condition: an SQL condition on rows `m` of `members`.
  package func due(where condition: String) -> String {
    let level = Self.level(of: "m.role")
    return """
      SELECT g.zone, g.account, max(g.level) AS level FROM (
        SELECT m.zone, m."user" AS account, \(level) AS level FROM \(members) m
        WHERE \(condition) AND m."user" IS NOT NULL AND m.invited_by IS NULL
        UNION ALL SELECT m.zone, o."user", \(level) FROM \(members) m
        JOIN \(members) o ON o.zone = m."group" AND o."user" IS NOT NULL AND o.invited_by IS NULL
        WHERE \(condition) AND (\(isLive))
          AND NOT EXISTS (SELECT 1 FROM \(left) l WHERE l.zone = m.zone AND l."user" = o."user")
      ) g GROUP BY g.zone, g.account
      """
  }

  /// Selects the differences between `access` and the computed roles: zone, account, stored level and computed level, as texts. 0 means no
  /// role.
  ///
  /// - Parameter zones: the table of existing zones. Other zones, and those that have moved to another database, grant nothing.
  package func differences(from access: String, zones: String) -> String {
    let isThere = "EXISTS (SELECT 1 FROM \(zones) z WHERE z.zone = m.zone AND z.left_for IS NULL)"
    return """
      SELECT s.zone, s.account, CAST(max(s.found) AS text), CAST(max(s.due) AS text) FROM (
        SELECT a.zone, a."user" AS account, \(Self.level(of: "a.role")) AS found, 0 AS due FROM \(access) a
        UNION ALL SELECT d.zone, d.account, 0, d.level FROM (\(due(where: isThere))) d
      ) s GROUP BY s.zone, s.account HAVING max(s.found) <> max(s.due) ORDER BY s.zone, s.account
      """
  }

  /// PostgreSQL SQL that maps a level to its role.
  package static func role(of level: String) -> String { "(ARRAY[\(Role.sqlList)])[\(level)]" }

  private static func level(of role: String) -> String {
    let levels = Role.allCases.enumerated().map { "WHEN '\($1.rawValue)' THEN \($0 + 1)" }
    return "CASE \(role) \(levels.joined(separator: " ")) END"
  }
}

/// A user whose role in `access` differs from the role that members and groups grant.
package struct WrongAccess {
  package let zone: String
  package let user: String
  package let found: Role?
  package let due: Role?

  /// Parses a row of `AccessQuery.differences`.
  package init(_ row: [String]) {
    (zone, user) = (row[0], row[1])
    (found, due) = (Self.role(of: row[2]), Self.role(of: row[3]))
  }

  private static func role(of level: String) -> Role? {
    guard let place = Int(level), Role.allCases.indices.contains(place - 1) else { return nil }
    return Role.allCases[place - 1]
  }

  /// The line that the doctor prints for an operator.
  package var finding: Finding {
    Finding(
      .access,
      """
      the user \(user) has \(found?.rawValue ?? "nothing") in the zone \(zone), and its members say \(due?.rawValue ?? "nothing"); \
      `holdfast doctor --repair` mends it
      """)
  }
}
