import HoldfastCore
import HoldfastHTTP
import HoldfastPostgresStore
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
    _ = try configuration.checkSurroundings()
    // The port may be that of the running server.
    for address in [configuration.address, configuration.metrics?.host].compactMap(\.self) {
      _ = try HTTPListener(address: address)
    }
    var lines = configuration.tls == nil ? [] : ["The certificate and its key are good."]
    if let provider = configuration.identityProvider {
      guard !provider.usableKeys.isEmpty else {
        throw ServerError(
          .unreachable,
          "The identity provider's keys can't be had, or none of them is of use. Check --jwt-keys.")
      }
      lines.append("The identity provider has keys.")
    }
    if case .directory(let path) = configuration.database { try ServedFile.check(DataDirectory(path: path)) }
    if case .postgres(let location) = configuration.database { try PoolerCheck.require(for: location) }
    var stored: SyncSchema?
    do { stored = try configuration.database.storedSchema() } catch let error as ServerError
      where error.code == .schemaMissing && configuration.schema != nil
    {
      if configuration.mustExist { throw configuration.database.missing }
      if let schema = configuration.schema { try configuration.database.requireFree(for: schema) }
      return lines + ["There is no database yet: the start creates it."]
    } catch let error as ServerError where error.code == .schemaCannotChange && configuration.schema != nil {
      // A team changes its table first, and then the schema: the report says whether they fit.
    }
    guard let schema = configuration.schema else {
      return try lines + ["The database is good."] + notes(on: stored, in: configuration)
    }
    let report = try configuration.database.report(of: schema)
    switch report.verdict {
    case .none: lines.append("The database is good, and has this schema.")
    case .safe: lines.append("The database is good. The start changes its schema:\n\(report.text)")
    case .removes where configuration.removals == .allow:
      lines.append("The database is good. The start removes from its schema:\n\(report.text)")
    case .removes, .impossible: throw ServerError(.schemaCannotChange, report.text)
    }
    return try lines + notes(on: schema, in: configuration)
  }

  private static func notes(on schema: SyncSchema?, in configuration: Configuration) throws -> [String] {
    guard let schema, case .postgres(let location) = configuration.database else { return [] }
    return try Adoption(location, environment: configuration.environment).notes(on: schema)
  }
}
