public import HoldfastCore

/// A team's own rules: what becomes of edits that meet in columns with the policy `resolver`, and which records there may be. See
/// PROTOCOL.md, section 5.1.
///
/// The functions run on the threads that write, inside the transaction: each change set waits for them. They decide by what they are given, and
/// are quick.
public struct Rules: Sendable {
  /// Makes one value of two edits.
  ///
  /// - Parameters:
  ///   - base: the value that the edit began from; nil when it is not known.
  ///   - mine: the value of the edit that arrives.
  ///   - theirs: the value that is there.
  ///   - record: the record as it is there, with what the edit has changed of it so far.
  /// - Returns: the column's value, in the form of the wire.
  /// - Throws: `ValidationError` to refuse the change set.
  public typealias Resolver =
    @Sendable (
      _ base: JSONValue?, _ mine: JSONValue, _ theirs: JSONValue, _ record: RuledRecord
    ) throws -> JSONValue

  /// Looks at a record as it is to be.
  ///
  /// - Throws: `ValidationError` to refuse the change set.
  public typealias Validator = @Sendable (_ record: RuledRecord) throws -> Void

  /// A column of a table.
  package struct Place: Hashable {
    package let table: String
    package let column: String
  }

  package private(set) var resolvers: [Place: Resolver] = [:]
  package private(set) var validators: TextMap<Validator> = [:]

  /// No rules.
  public init() {}

  /// Sets what becomes of two edits of a column, whose policy is `resolver`. The last one given counts.
  public mutating func resolve(_ table: String, _ column: String, by resolver: @escaping Resolver) {
    resolvers[Place(table: table, column: column)] = resolver
  }

  /// Sets who looks at each record of a table that was made or changed. The last one given counts.
  public mutating func validate(_ table: String, by validator: @escaping Validator) {
    validators[table] = validator
  }

  /// Checks that the rules and a schema fit together.
  ///
  /// - Throws: `ServerError`: `rulesMissing` for a column without its resolver, `rulesUnknown` for a rule that would never be asked.
  package func check(against schema: SyncSchema) throws(ServerError) {
    for table in schema.tables {
      for column in table.columns where column.policy == .resolver {
        if resolvers[Place(table: table.name, column: column.name)] == nil {
          throw ServerError(
            .rulesMissing,
            "\(table.name).\(column.name) is merged by a resolver, and none was given: add it to Configuration.rules, or choose another policy. `holdfast serve` has none."
          )
        }
      }
    }
    for place in resolvers.keys.sorted(by: { ($0.table, $0.column) < ($1.table, $1.column) }) {
      guard let table = schema.table(place.table), let index = table.index(of: place.column),
        table.columns[index].policy == .resolver
      else {
        throw ServerError(
          .rulesUnknown,
          "There is a resolver for \(place.table).\(place.column), and the schema has no such column with \"merge\": \"resolver\"."
        )
      }
    }
    for name in validators.keys.sorted() where schema.table(name)?.isBuiltIn ?? true {
      throw ServerError(
        .rulesUnknown, "There is a validator for \(name), and the schema declares no such table.")
    }
  }
}
