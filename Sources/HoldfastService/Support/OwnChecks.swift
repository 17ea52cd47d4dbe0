package import HoldfastCore

// What the database itself checks of Holdfast's own tables, in both engines, as a person at its shell may write to them: the checks stand where the
// tables are made.

/// What stands in a check for the greatest number that counts something: no database reaches it, and what is counted on from there still fits.
package let greatestCount = "4611686018427387904"

extension Role {
  /// All roles, as SQL lists them.
  package static let sqlList = Role.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")
}

extension ColumnSchema {
  /// What must hold of a column of a built-in table; nil for nothing, and for other tables, whose limits are the service's to check, as they may change.
  package func builtInCheck(of table: TableSchema) -> String? {
    if !table.isBuiltIn || oneOf.isEmpty { return nil }
    return "\"\(name)\" IN (\(oneOf.map { "'\($0)'" }.joined(separator: ", ")))"
  }
}
