import Foundation
@testable import HoldfastServer
import HoldfastCore
import Synchronization
import Testing

/// What Citus asks of statements on distributed tables, as far as their text shows it: docs/POSTGRES.md, section 7.
struct ShardRules {
  /// A statement that asks all shards on purpose. None of them locks or writes.
  struct FanOut {
    let reason: String
    let pattern: String
  }

  static let fanOuts = [
    FanOut(
      reason: "a record is named by its id alone",
      pattern: #"""
        SELECT .* FROM holdfast.records r WHERE r.record_table = \$1 AND r.id = ANY \(\$2\)
        """#),
    FanOut(
      reason: "a record shows the request that created it",
      pattern: #"""
        SELECT c.record_id, c.request_id FROM holdfast.created c WHERE c.account = \$1 AND c.record_table = \$2 AND c.record_id = ANY \(\$3\)
        """#),
    FanOut(
      reason: "references to other zones",
      pattern: #"""
        SELECT t.id FROM \S+ t WHERE t.\w+ = \$1
        """#),
    FanOut(
      reason: "a device shows its token alone",
      pattern: #"""
        SELECT .* FROM holdfast.devices d LEFT JOIN holdfast.refusals r ON r.device = d.number WHERE d.token_hash = \$1 ORDER BY r.first
        """#),
    FanOut(
      reason: "a device signs in with its id",
      pattern: #"""
        SELECT number FROM holdfast.devices WHERE id = \$1 AND account = \$2
        """#),
    FanOut(
      reason: "a user loses a zone on all devices",
      pattern: #"""
        SELECT number FROM holdfast.devices WHERE account = \$1
        """#),
    FanOut(
      reason: "a user looks at all devices, and revokes some",
      pattern: #"""
        SELECT number, id, .* FROM holdfast.devices WHERE account = \$1 ORDER BY .*
        """#),
    FanOut(
      reason: "a JWT's device is made once",
      pattern: #"""
        SELECT number FROM holdfast.devices WHERE token_hash = \$1
        """#),
    FanOut(
      reason: "a service token may be for all zones",
      pattern: #"""
        SELECT z.zone, z.seq, z.purged, 'owner' FROM holdfast.zones z
        """#),
    FanOut(
      reason: "an invitation's token does not say its zone",
      pattern: #"""
        SELECT .* FROM holdfast.invitations i WHERE i.token_hash = \$1
        """#),
    FanOut(
      reason: "a user has zones on all shards",
      pattern: #"""
        SELECT .* FROM holdfast.access m JOIN holdfast.zones z ON z.zone = m.zone WHERE m.user = \$1
        """#),
    FanOut(
      reason: "how many zones a user has, on all shards",
      pattern: #"""
        SELECT count\(\*\) FROM \(SELECT a.zone FROM holdfast.access a WHERE a.user = \$1 AND a.zone <> ALL \(\$2\) LIMIT \$3\) z
        """#),
    FanOut(
      reason: "two users may share a zone on any shard",
      pattern: #"""
        SELECT a.zone FROM holdfast.access a JOIN holdfast.access b ON b.zone = a.zone AND b.user = \$2 JOIN .* LIMIT 1
        """#),
    FanOut(
      reason: "a user is invited to zones on all shards",
      pattern: #"""
        SELECT m\..* FROM holdfast.members m .*WHERE m.user = \$1.*
        """#),
    FanOut(
      reason: "a group is named by zones on all shards",
      pattern: #"""
        SELECT m.id, m.zone, m.role FROM holdfast.members m WHERE m.group = \$1
        """#),
    FanOut(
      reason: "a user has left zones on all shards",
      pattern: #"""
        SELECT l.zone FROM holdfast.departures l WHERE l.user = \$1 LIMIT \$2
        """#),
    FanOut(
      reason: "a user's devices are on all shards",
      pattern: #"""
        SELECT a.zone FROM holdfast.devices d JOIN holdfast.acks a ON a.device = d.number AND a.zone = \$2 WHERE d.account = \$1 .* LIMIT 1
        """#),
    FanOut(
      reason: "devices that were never used are on all shards",
      pattern: #"""
        SELECT d.number FROM holdfast.devices d WHERE d.session = 1 AND NOT d.session_used .* LIMIT \$3
        """#),
    FanOut(
      reason: "a device acks zones on all shards",
      pattern: #"""
        SELECT .* FROM holdfast.zones z WHERE z.zone = ANY \(\$1\)
        """#),
    FanOut(
      reason: "the webhook serves all zones",
      pattern: #"""
        SELECT .* FROM holdfast.zones z LEFT JOIN holdfast.told t .* LIMIT \$1
        """#),
    FanOut(
      reason: "a collection is made of zones on all shards",
      pattern: #"""
        SELECT t.id FROM \S+ t WHERE t.zone = ANY \(\$1\).* LIMIT \$\d+
        """#),
    FanOut(
      reason: "results expire, whosever they are",
      pattern: #"""
        SELECT p.account, p.token_hash FROM holdfast.results p WHERE p.expires <= \$1 ORDER BY p.expires LIMIT \$2
        """#),
    FanOut(
      reason: "zones on all shards have tombstones",
      pattern: #"""
        SELECT DISTINCT r.zone FROM holdfast.records r WHERE r.state > 0 AND r.zone > \$1 ORDER BY r.zone LIMIT \$2
        """#),
    FanOut(
      reason: "devices of a zone are on all shards",
      pattern: #"""
        SELECT min\(greatest\(a.seq, a.purged\)\) FROM holdfast.acks a JOIN holdfast.devices d ON d.number = a.device WHERE a.zone = \$1 .*
        """#),
    FanOut(
      reason: "devices die on all shards",
      pattern: #"""
        SELECT DISTINCT a.device FROM holdfast.acks a JOIN holdfast.devices d ON d.number = a.device WHERE d.seen_at <= \$1 .* LIMIT \$3
        """#),
    FanOut(
      reason: "devices that a restored server has not heard are on all shards",
      pattern: #"""
        SELECT d.number FROM holdfast.devices d WHERE d.unheard AND d.seen_at > \$1 .*LIMIT 1
        """#),
    FanOut(
      reason: "devices that a restored server has not heard die on all shards",
      pattern: #"""
        SELECT d.number FROM holdfast.devices d WHERE d.unheard AND d.seen_at <= \$1 .* LIMIT \$3
        """#),
    FanOut(
      reason: "a forgotten record names no device",
      pattern: #"""
        SELECT c.device, c.request_id, c.place FROM holdfast.created c WHERE c.record_table = \$1 AND c.record_id = ANY \(\$2\)
        """#),
    FanOut(
      reason: "conflicts are forgotten by their age",
      pattern: #"""
        SELECT c.id, c.zone FROM holdfast.conflicts c WHERE c.id > \$1 AND c.id < \$2 ORDER BY c.id LIMIT \$3
        """#),
    FanOut(
      reason: "answers are forgotten by their age",
      pattern: #"""
        SELECT q.device, q.number FROM holdfast.requests q WHERE q.at <= \$1 ORDER BY q.at LIMIT \$2
        """#),
    FanOut(
      reason: "operators ask how far devices are behind",
      pattern: #"""
        SELECT d.number, d.id, .* FROM holdfast.devices d WHERE d.account = coalesce\(\$1, d.account\) .* LIMIT \$3
        """#),
    FanOut(
      reason: "devices are on all shards",
      pattern: #"""
        SELECT a.device, a.zone, a.seq FROM holdfast.acks a WHERE a.device = ANY \(\$1\)
        """#),
    FanOut(
      reason: "operators name a device by its id",
      pattern: #"""
        SELECT d.number FROM holdfast.devices d WHERE d.id = \$1
        """#),
    FanOut(
      reason: "a user who is erased has devices on all shards",
      pattern: #"""
        SELECT t.device FROM holdfast.devices d JOIN holdfast.\w+ t ON t.device = d.number WHERE d.account = \$1 LIMIT 1
        """#),
    FanOut(
      reason: "a user who is erased has made invitations to zones on all shards",
      pattern: #"""
        SELECT i.zone, i.id FROM holdfast.invitations i WHERE i.inviter = \$1 LIMIT \$2
        """#),
    FanOut(
      reason: "a user who is erased has left zones on all shards",
      pattern: #"""
        SELECT m.zone FROM holdfast.access m WHERE m.user = \$1 LIMIT 1
        """#),
    FanOut(
      reason: "snapshots are of zones on all shards",
      pattern: #"""
        SELECT z.zone, z.erased FROM holdfast.zones z WHERE z.erased > 0
        """#),
    FanOut(
      reason: "the clock goes on from the latest stamp",
      pattern: #"""
        SELECT coalesce\(max\(clock\), 0\) FROM holdfast.(zones|devices)
        """#),
  ]

  /// What operators ask is of all zones.
  static let operators = [
    // A database of before groups is brought to this form.
    #"SELECT m.zone, m.user, m.role FROM holdfast.members m"#,
    #"SELECT m.zone, count.* GROUP BY m.zone"#,
    #"SELECT r.zone, count.* GROUP BY r.zone"#,
    #"SELECT z.zone, CASE .* FROM holdfast.zones z ORDER BY z.zone"#,
    // What is known of a history before a restore is forgotten long after it.
    #"SELECT DISTINCT h.zone FROM holdfast.handed h WHERE h.zone > \$1 ORDER BY h.zone LIMIT \$2"#,
    #"SELECT c.zone FROM holdfast.claims c WHERE c.zone > \$1 ORDER BY c.zone LIMIT \$2"#,
    #"SELECT d.account, count.* GROUP BY d.account"#,
    #"SELECT d.id, (a.name|CASE a.erasure).* JOIN holdfast.accounts a .*"#,
    #"SELECT account FROM holdfast.devices WHERE id = \$1"#,
    #"SELECT loser_at.* FROM holdfast.conflicts .* LIMIT \$1"#,
    #"SELECT r.record_table, r.id FROM holdfast.records r .* HAVING count\(\*\) > 1"#,
    #"SELECT t.id FROM \S+ t LEFT JOIN \S+ p ON p.zone = t.zone .* IS NULL"#,
    #"SELECT p.id FROM \S+ p"#,
    #"SELECT t.\w+ FROM \S+ t WHERE t.\w+ IS NOT NULL"#,
    #"SELECT z.zone FROM holdfast.zones z LEFT JOIN .* m.id IS NULL"#,
    #"SELECT t.id FROM \S+ t WHERE t.id = ANY \(\$1\)"#,
    #"SELECT r.zone, max\(r.seq\)::text .* GROUP BY r.zone"#,
    #"SELECT z.zone, z.seq::text .* r.seq IS NULL"#,
    #"SELECT r.zone, min\(r.seq\)::text .* GROUP BY r.zone"#,
    #"SELECT coalesce\(r.id, t.id::text\), .* t.id IS NULL"#,
    #"SELECT id, stamps, rev::text FROM holdfast.records .*"#,
    #"SELECT c.zone, coalesce.* FROM holdfast.claims c .* GROUP BY c.zone ORDER BY c.zone"#,
  ]

  private static let everywhere = TextSet(
    PostgresShards.places.filter { $0.place == .everywhere }.map(\.relation))

  /// The column by which a relation is distributed; nil for one that each node has.
  private static func column(_ relation: String) -> String? {
    if everywhere.contains(relation) { return nil }
    for (known, place, _) in PostgresShards.places where known == relation {
      if case .by(let column) = place { return column }
    }
    return "zone"
  }

  /// A table in a statement.
  private struct Use {
    let alias: String
    let column: String
    let isBound: Bool
  }

  /// What is wrong with a text of one or more statements.
  static func faults(_ text: String) -> [String] {
    let flat = text.replacing("\"", with: "").replacing(/\s+/, with: " ")
    return flat.split(separator: ";").flatMap { part in
      let sql = part.trimmingCharacters(in: .whitespaces)
      let isDefinition = ["CREATE", "ALTER", "DROP"].contains { sql.hasPrefix($0) }
      return (isDefinition ? definition(sql) : work(sql)).map { "\($0): \(sql)" }
    }
  }

  // MARK: Definitions

  private static func definition(_ sql: String) -> [String] {
    var faults: [String] = []
    if sql.firstMatch(of: /CREATE (OR REPLACE )?(CONSTRAINT )?(TRIGGER|FUNCTION)/) != nil {
      faults.append("Nodes have no triggers")
    }
    guard
      let relation = sql.firstMatch(of: /(?:CREATE TABLE|ALTER TABLE| ON) ((?:holdfast|public)\.\w+)/)?.output
        .1,
      let column = column(String(relation))
    else { return faults }
    for key in sql.matches(of: /(?:PRIMARY KEY|UNIQUE|UNIQUE INDEX \w+ ON \S+) \(([^)]*)\)/)
    where !names(key.output.1).contains(column) {
      faults.append("A key lacks \(column)")
    }
    for key in sql.matches(
      of: /(\w+) (?:bigint|text|bytea)(?: COLLATE C)?(?: NOT NULL)? (?:PRIMARY KEY|UNIQUE)(?! ?\()/)
    where key.output.1 != column {
      faults.append("A key lacks \(column)")
    }
    for key in sql.matches(of: /(?:FOREIGN KEY \(([^)]*)\) )?REFERENCES (\S+) \(([^)]*)\)/) {
      let target = self.column(String(key.output.2))
      let isColocated =
        target.map { names(key.output.1 ?? "").first == column && names(key.output.3).first == $0 } ?? false
      if !isColocated { faults.append("A reference leaves the shard") }
      if sql.firstMatch(of: /ON (DELETE|UPDATE)/) != nil { faults.append("A reference acts by itself") }
    }
    return faults
  }

  private static func names(_ list: Substring) -> [String] {
    list.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
  }

  // MARK: Reads and writes

  private static func work(_ sql: String) -> [String] {
    let uses = uses(sql)
    if uses.isEmpty { return [] }
    var faults: [String] = []
    let locks = sql.contains(/\ FOR (NO KEY )?(UPDATE|SHARE)/)
    let isRead = sql.hasPrefix("SELECT ")
    if !uses.allSatisfy(\.isBound) {
      let patterns = fanOuts.map(\.pattern) + operators
      if !patterns.contains(where: { matches(sql, $0) }) { faults.append("It goes to all shards") }
      if locks || !isRead { faults.append("It locks or writes on all shards") }
      if !isJoined(uses, sql) { faults.append("It joins what is on different shards") }
    }
    if locks, uses.count > 1 || uses.contains(where: { !isGiven($0.alias, $0.column, sql, isAlone: true) }) {
      faults.append("It locks without the key")
    }
    if sql.contains("unnest(") || sql.contains("LATERAL") {
      faults.append("The coordinator would have to do it")
    }
    for match in sql.matches(of: /(\w+) \(SELECT/) where match.output.1 != "FROM" && match.output.1 != "JOIN"
    {
      faults.append("A query inside a query")
    }
    if isRead { return faults }
    if sql.contains(
      /\b(now|clock_timestamp|statement_timestamp|random|nextval|gen_random_uuid|current_timestamp)\b/)
    {
      faults.append("Each node would compute another value")
    }
    if let settings = sql.firstMatch(of: /\ SET (.*?)(?: WHERE |$)/)?.output.1, let written = uses.first,
      has(String(settings), "(^|, )\(written.column) = ")
    {
      faults.append("A row can't go to another shard")
    }
    if let target = sql.firstMatch(of: /ON CONFLICT \(([^)]*)\)/)?.output.1, let written = uses.first,
      !names(target).contains(written.column)
    {
      faults.append("A conflict is met on one shard alone")
    }
    return faults
  }

  static func matches(_ sql: String, _ pattern: String) -> Bool {
    has(sql, "^(?:\(pattern))$")
  }

  private static func has(_ sql: String, _ pattern: String) -> Bool {
    sql.range(of: pattern, options: .regularExpression) != nil
  }

  /// The distributed tables of a statement.
  private static func uses(_ sql: String) -> [Use] {
    let pattern =
      /\b(FROM|JOIN|INTO|UPDATE|USING) ((?:holdfast|public)\.\w+)(?: (?:AS )?(?!(?:WHERE|ON|SET|LEFT|JOIN|GROUP|ORDER|FULL|VALUES|FOR|LIMIT|UNION)\b)(\w+))?/
    let found = sql.matches(of: pattern).compactMap {
      match -> (alias: String, column: String, isNew: Bool)? in
      guard let column = column(String(match.output.2)) else { return nil }
      return (String(match.output.3 ?? match.output.2), column, match.output.1 == "INTO")
    }
    var bound = found.map { use in
      use.isNew ? isInserted(use.column, sql) : isGiven(use.alias, use.column, sql, isAlone: found.count == 1)
    }
    for _ in found {
      for (one, other) in pairs(found.count) where bound[one] && !bound[other] {
        bound[other] = isEqual(
          found[one].alias, found[one].column, found[other].alias, found[other].column, sql)
      }
    }
    return zip(found, bound).map { Use(alias: $0.alias, column: $0.column, isBound: $1) }
  }

  private static func pairs(_ count: Int) -> [(Int, Int)] {
    (0..<count).flatMap { one in (0..<count).filter { $0 != one }.map { (one, $0) } }
  }

  /// Whether a parameter says on which shard a table's rows are.
  private static func isGiven(_ alias: String, _ column: String, _ sql: String, isAlone: Bool) -> Bool {
    let name = isAlone ? "(?:\(alias)\\.|(?<![\\w.]))\(column)" : "\\b\(alias)\\.\(column)"
    return has(sql, "(?:WHERE|AND|ON) \(name) = \\$\\d") && !sql.contains(" OR ")
  }

  private static func isEqual(
    _ one: String, _ oneColumn: String, _ other: String, _ otherColumn: String, _ sql: String
  )
    -> Bool
  {
    sql.contains("\(one).\(oneColumn) = \(other).\(otherColumn)")
      || sql.contains("\(other).\(otherColumn) = \(one).\(oneColumn)")
  }

  /// Whether a new row's shard is said by a parameter.
  private static func isInserted(_ column: String, _ sql: String) -> Bool {
    guard let match = sql.firstMatch(of: /\(([^)]*)\) VALUES \(([^)]*)\)/),
      let place = names(match.output.1).firstIndex(of: column), names(match.output.2).indices.contains(place)
    else { return false }
    return names(match.output.2)[place].wholeMatch(of: /\$\d+/) != nil
  }

  /// Whether all tables are joined by the columns that they are distributed by.
  private static func isJoined(_ uses: [Use], _ sql: String) -> Bool {
    var reached: Set<Int> = [0]
    for _ in uses {
      for (one, other) in pairs(uses.count) where reached.contains(one) {
        if isEqual(uses[one].alias, uses[one].column, uses[other].alias, uses[other].column, sql) {
          reached.insert(other)
        }
      }
    }
    return reached.count == uses.count
  }
}

/// Looks at each statement that a server prepares.
final class ShardWatch: Sendable {
  /// What was found in each statement, by any.
  private static let faults = Mutex<TextMap<[String]>>([:])

  private let known = Mutex<TextSet>([])

  /// All of them.
  var statements: TextSet { known.withLock { $0 } }

  /// Looks at a statement.
  func see(_ sql: String) {
    guard known.withLock({ $0.insert(sql).inserted }) else { return }
    let faults = Self.faults.withLock { $0[sql] } ?? ShardRules.faults(sql)
    Self.faults.withLock { $0[sql] = faults }
    for fault in faults { Issue.record(Comment(rawValue: fault)) }
  }
}
