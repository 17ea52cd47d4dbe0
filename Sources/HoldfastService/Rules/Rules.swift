public import HoldfastCore

/// A team's validators and resolvers: which records are valid, and how concurrent edits merge in columns with the policy `resolver`. See
/// PROTOCOL.md, section 5.1.
///
/// The functions run on the writer threads, inside the transaction, so every change set waits for them. They must be fast, and depend only
/// on their arguments.
public struct Rules: Sendable {
  /// Merges two concurrent edits into one value.
  ///
  /// - Parameters:
  ///   - base: the value before the edit; nil if unknown.
  ///   - mine: the value of the incoming edit.
  ///   - theirs: the current value.
  ///   - record: the current record, with the other changes of the incoming edit so far.
  /// - Returns: the column's new value, in its wire form.
  /// - Throws: `ValidationError` to refuse the change set.
  public typealias Resolver =
    @Sendable (
      _ base: JSONValue?, _ mine: JSONValue, _ theirs: JSONValue, _ record: RuledRecord
    ) throws -> JSONValue

  /// Checks a record in its new state.
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

  /// Creates an empty set of rules.
  public init() {}

  /// Sets the resolver of a column with the policy `resolver`. Replaces an earlier one.
  public mutating func resolve(_ table: String, _ column: String, by resolver: @escaping Resolver) {
    resolvers[Place(table: table, column: column)] = resolver
  }

  /// Sets the validator for created and changed records of a table. Replaces an earlier one.
  public mutating func validate(_ table: String, by validator: @escaping Validator) {
    validators[table] = validator
  }

  /// Checks that the rules fit a schema.
  ///
  /// - Throws: `ServerError`: `rulesMissing` for a column without its resolver, `rulesUnknown` for a rule that would never be called.
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
