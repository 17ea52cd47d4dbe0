package import HoldfastCore

/// Who may do what where, as `members` and groups have it: the one query of it in SQL, for each engine by its own names. The triggers write
/// `access` by it, and the doctor compares `access` with it. docs/SHARING.md, section 1.
package struct AccessQuery {
  /// `members`, and the table of who has left which zone.
  package let members: String
  package let left: String
  /// Whether the zone that a row of members, `m`, names as a group still stands.
  package let isLive: String

  package init(members: String, left: String, isLive: String) {
    (self.members, self.left, self.isLive) = (members, left, isLive)
  }

  /// `zone`, `account`, and `level`: the greatest that members and groups give.
  ///
  /// - Parameter condition: of which rows of members, `m`.
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

  /// Where `access` says something else: zone, account, the level that it has and the one that is due as texts, 0 for none.
  ///
  /// - Parameter zones: the zones that there are; in others nobody may do anything.
  package func differences(from access: String, zones: String) -> String {
    let isThere = "EXISTS (SELECT 1 FROM \(zones) z WHERE z.zone = m.zone)"
    return """
      SELECT s.zone, s.account, CAST(max(s.found) AS text), CAST(max(s.due) AS text) FROM (
        SELECT a.zone, a."user" AS account, \(Self.level(of: "a.role")) AS found, 0 AS due FROM \(access) a
        UNION ALL SELECT d.zone, d.account, 0, d.level FROM (\(due(where: isThere))) d
      ) s GROUP BY s.zone, s.account HAVING max(s.found) <> max(s.due) ORDER BY s.zone, s.account
      """
  }

  /// The role of a level in PostgreSQL.
  package static func role(of level: String) -> String { "(ARRAY[\(Role.sqlList)])[\(level)]" }

  private static func level(of role: String) -> String {
    let levels = Role.allCases.enumerated().map { "WHEN '\($1.rawValue)' THEN \($0 + 1)" }
    return "CASE \(role) \(levels.joined(separator: " ")) END"
  }
}

/// A user who may do something else in a zone than its members say.
package struct WrongAccess {
  package let zone: String
  package let user: String
  package let found: Role?
  package let due: Role?

  /// A row of `AccessQuery.differences`.
  package init(_ row: [String]) {
    (zone, user) = (row[0], row[1])
    (found, due) = (Self.role(of: row[2]), Self.role(of: row[3]))
  }

  private static func role(of level: String) -> Role? {
    guard let place = Int(level), Role.allCases.indices.contains(place - 1) else { return nil }
    return Role.allCases[place - 1]
  }

  /// What an operator is told.
  package var finding: String {
    """
    access: the user \(user) has \(found?.rawValue ?? "nothing") in the zone \(zone), and its members say \(due?.rawValue ?? "nothing"); \
    `holdfast doctor --repair` mends it
    """
  }
}
