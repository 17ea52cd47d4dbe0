import Foundation
import HoldfastCore

@testable import HoldfastServer

/// What Citus asks of statements on distributed tables, as far as their text shows it: docs/POSTGRES.md, section 7.
struct ShardRules {
  private static let everywhere = TextSet(
    PostgresShards.places.filter { $0.place == .everywhere }.map(\.relation))

  /// The column by which a relation is distributed; nil for one that each node has.
  private static func column(_ relation: String) -> String? {
    if everywhere.contains(relation) { return nil }
    for (known, place) in PostgresShards.places where known == relation {
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
