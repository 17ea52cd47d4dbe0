import HoldfastCore

/// The rules of a server, and the log for their failures.
package struct RulesInForce {
  private let rules: Rules
  let log: @Sendable (String) -> Void

  init(_ rules: Rules = Rules(), log: @escaping @Sendable (String) -> Void = { _ in }) {
    self.rules = rules
    self.log = log
  }

  var hasValidators: Bool { !rules.validators.isEmpty }

  func resolver(of column: String, in table: String) -> Rules.Resolver? {
    rules.resolvers[Rules.Place(table: table, column: column)]
  }

  func validator(of table: String) -> Rules.Validator? { rules.validators[table] }
}
