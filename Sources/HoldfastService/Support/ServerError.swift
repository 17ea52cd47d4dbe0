/// Why a server or its database can't be opened or used, for the person who runs it.
public struct ServerError: Error, Sendable, CustomStringConvertible {
  /// What kind of failure it is.
  public struct Code: Sendable, Hashable {
    private enum Kind {
      case notOurs, newer, inUse, schemaMissing, schemaCannotChange, unreachable, notFound, refused, damaged,
        rulesMissing,
        rulesUnknown, databaseMissing
    }
    private let kind: Kind

    /// The file is a database of another program, or no database.
    public static let notOurs = Code(kind: .notOurs)
    /// The database was written by a newer Holdfast.
    public static let newer = Code(kind: .newer)
    /// Another server has the data directory open.
    public static let inUse = Code(kind: .inUse)
    /// There is no database yet, and no schema was given to make one.
    public static let schemaMissing = Code(kind: .schemaMissing)
    /// There is no database where there must be one.
    public static let databaseMissing = Code(kind: .databaseMissing)
    /// The new schema does more than add to the one in the database.
    public static let schemaCannotChange = Code(kind: .schemaCannotChange)
    /// A file or directory can't be read, made or written.
    public static let unreachable = Code(kind: .unreachable)
    /// What was named is not there.
    public static let notFound = Code(kind: .notFound)
    /// The rules of the service forbid it.
    public static let refused = Code(kind: .refused)
    /// The database contradicts itself; `holdfast doctor` says where.
    public static let damaged = Code(kind: .damaged)
    /// The schema says `resolver` of a column, and no function was given.
    public static let rulesMissing = Code(kind: .rulesMissing)
    /// A rule is for a table or column that is not there.
    public static let rulesUnknown = Code(kind: .rulesUnknown)
  }

  /// What kind of failure it is.
  public let code: Code
  /// What is wrong, where, and what to do next.
  public let description: String

  package init(_ code: Code, _ description: String) {
    self.code = code
    self.description = description
  }
}

extension ServerError {
  /// A public zone of the schema has the name of another zone: all would read what is in it.
  package static func taken(publicZone zone: String) -> ServerError {
    ServerError(
      .schemaCannotChange,
      "The public zone \(zone) of the schema is a zone of the database already, and not public. Give it another name."
    )
  }
}
