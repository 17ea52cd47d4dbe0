/// An error of a server or its database, for the operator.
public struct ServerError: Error, Sendable, CustomStringConvertible {
  /// The kind of an error.
  public struct Code: Sendable, Hashable {
    private enum Kind {
      case notOurs, newer, inUse, schemaMissing, schemaCannotChange, unreachable, notFound, refused, damaged,
        rulesMissing,
        rulesUnknown, databaseMissing, busy
    }
    private let kind: Kind

    /// The file is a database of another program, or no database.
    public static let notOurs = Code(kind: .notOurs)
    /// A newer version of Holdfast wrote the database.
    public static let newer = Code(kind: .newer)
    /// Another server has the data directory open.
    public static let inUse = Code(kind: .inUse)
    /// There is no database yet, and no schema to create one.
    public static let schemaMissing = Code(kind: .schemaMissing)
    /// The database does not exist, but must.
    public static let databaseMissing = Code(kind: .databaseMissing)
    /// The schema cannot be applied to the database.
    public static let schemaCannotChange = Code(kind: .schemaCannotChange)
    /// A file or directory cannot be read, created or written.
    public static let unreachable = Code(kind: .unreachable)
    /// The named object does not exist.
    public static let notFound = Code(kind: .notFound)
    /// The rules of the service forbid the operation.
    public static let refused = Code(kind: .refused)
    /// Other transactions have held for long what the operation needs.
    public static let busy = Code(kind: .busy)
    /// The database is inconsistent; `holdfast doctor` shows where.
    public static let damaged = Code(kind: .damaged)
    /// A column has the policy `resolver`, but there is no resolver for it.
    public static let rulesMissing = Code(kind: .rulesMissing)
    /// A rule names an unknown table or column.
    public static let rulesUnknown = Code(kind: .rulesUnknown)
  }

  /// The kind of the error.
  public let code: Code
  /// The problem, its place, and the next step.
  public let description: String

  package init(_ code: Code, _ description: String) {
    self.code = code
    self.description = description
  }
}

extension ServerError {
  /// The error for a public zone with the name of an existing zone. All users would see that zone's records.
  package static func taken(publicZone zone: String) -> ServerError {
    ServerError(
      .schemaCannotChange,
      "The public zone \(zone) of the schema is a zone of the database already, and not public. Give it another name."
    )
  }
}
