package import HoldfastCore

// Parts of the CHECK constraints on Holdfast's own tables, for both engines. The constraints guard against manual writes. The table
// definitions contain the other constraints.

/// The maximum of a counter in a constraint. No database reaches it, and larger values still fit into 64 bits.
package let greatestCount = "4611686018427387904"

extension Role {
  /// All roles, as an SQL list.
  package static let sqlList = Role.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")
}

extension ColumnSchema {
  /// The constraint of a column of a built-in table; nil for none, and for other tables. Limits of those may change, so the service checks
  /// them.
  package func builtInCheck(of table: TableSchema) -> String? {
    if !table.isBuiltIn || oneOf.isEmpty { return nil }
    return "\"\(name)\" IN (\(oneOf.map { "'\($0)'" }.joined(separator: ", ")))"
  }
}
