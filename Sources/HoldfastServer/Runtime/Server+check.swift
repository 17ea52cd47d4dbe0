import HoldfastCore
import HoldfastSQLiteStore
import HoldfastService

extension Server {
  /// Checks a configuration without serving it: its rules, its files, the identity provider's keys, and what a start would do to the database. Writes nothing.
  ///
  /// ```swift
  /// for line in try Server.check(configuration) { print(line) }
  /// ```
  ///
  /// - Returns: a line for each part that was checked.
  /// - Throws: what `init(_:)` would throw for it; `ServerError.schemaCannotChange` when the database does not allow the schema.
  public static func check(_ configuration: Configuration) throws -> [String] {
    if let schema = configuration.schema { try configuration.rules.check(against: schema) }
    try configuration.checkWebFolder()
    _ = try configuration.tls?.read().pair
    var lines = configuration.tls == nil ? [] : ["The certificate and its key are good."]
    if let provider = configuration.identityProvider {
      guard !provider.usableKeys.isEmpty else {
        throw ServerError(
          .unreachable,
          "The identity provider's keys can't be had, or none of them is of use. Check --jwt-keys.")
      }
      lines.append("The identity provider has keys.")
    }
    if let folder = configuration.snapshotFolder { try SnapshotCache.check(folder) }
    if case .directory(let path) = configuration.database { try ServedFile.check(DataDirectory(path: path)) }
    do { _ = try configuration.database.storedSchema() } catch let error as ServerError
      where error.code == .schemaMissing && configuration.schema != nil && !configuration.mustExist
    {
      if let schema = configuration.schema { try configuration.database.requireFree(for: schema) }
      return lines + ["There is no database yet: the start creates it."]
    } catch let error as ServerError where error.code == .schemaCannotChange && configuration.schema != nil {
      // A team changes its table first, and then the schema: the report says whether they fit.
    }
    guard let schema = configuration.schema else { return lines + ["The database is good."] }
    let report = try configuration.database.report(of: schema)
    switch report.verdict {
    case .none: lines.append("The database is good, and has this schema.")
    case .safe: lines.append("The database is good. The start changes its schema:\n\(report.text)")
    case .removes where configuration.removals == .allow:
      lines.append("The database is good. The start removes from its schema:\n\(report.text)")
    case .removes, .impossible: throw ServerError(.schemaCannotChange, report.text)
    }
    return lines
  }
}
