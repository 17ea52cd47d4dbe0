extension PostgresError {
  /// What went wrong, by SQLSTATE: five characters, of which the first two are the class.
  ///
  /// A code that has no name here can still be compared through `rawValue`. The class `HF` is this library's own,
  /// for failures that no server reports. Source:
  /// <https://www.postgresql.org/docs/15/errcodes-appendix.html>.
  public struct Code: RawRepresentable, Sendable, Hashable {
    /// The five characters.
    public let rawValue: String

    /// Makes a code from its five characters.
    public init(rawValue: String) { self.rawValue = rawValue }

    private init(_ text: String) { rawValue = text }

    /// The first two characters, which name the family: `23` for every broken constraint.
    public var classCode: String { String(rawValue.prefix(2)) }

    /// Whether a constraint was broken: class 23.
    public var isConstraint: Bool { rawValue.hasPrefix("23") }

    /// Whether there is no connection to speak over: class 08.
    public var isConnection: Bool { rawValue.hasPrefix("08") }

    /// Whether the server lacks memory, disk space or connections: class 53.
    public var isInsufficientResources: Bool { rawValue.hasPrefix("53") }

    // Connections

    /// No connection could be made.
    public static let cannotConnect = Code("08001")
    /// The connection broke.
    public static let connectionLost = Code("08006")
    /// The role's name or way of proving itself is refused.
    public static let invalidAuthorization = Code("28000")
    /// The password is wrong.
    public static let invalidPassword = Code("28P01")
    /// There is no such database.
    public static let undefinedDatabase = Code("3D000")
    /// The server has no connection left to give.
    public static let tooManyConnections = Code("53300")
    /// An administrator ended the connection, or the server is being stopped.
    public static let adminShutdown = Code("57P01")
    /// Another server process crashed, and all connections were ended with it.
    public static let crashShutdown = Code("57P02")
    /// The server is starting, stopping or recovering.
    public static let cannotConnectNow = Code("57P03")

    // Constraints and values

    /// A NOT NULL column got no value.
    public static let notNullViolation = Code("23502")
    /// A foreign key has no parent, or a parent still has children.
    public static let foreignKeyViolation = Code("23503")
    /// A unique constraint or index has this value already.
    public static let uniqueViolation = Code("23505")
    /// A CHECK failed.
    public static let checkViolation = Code("23514")
    /// An exclusion constraint failed.
    public static let exclusionViolation = Code("23P01")
    /// A number does not fit its type.
    public static let numericValueOutOfRange = Code("22003")
    /// A text holds U+0000 or what is not UTF-8.
    public static let invalidText = Code("22021")
    /// A value's text is none of its type.
    public static let invalidTextRepresentation = Code("22P02")
    /// A value's bytes are none of its type.
    public static let invalidBinaryRepresentation = Code("22P03")
    /// A number was divided by zero.
    public static let divisionByZero = Code("22012")
    /// A function or trigger raised an error of its own.
    public static let raisedException = Code("P0001")

    // Transactions and locks

    /// The transaction can't write.
    public static let readOnlyTransaction = Code("25006")
    /// An earlier statement of the transaction failed, so this one was not run.
    public static let transactionAborted = Code("25P02")
    /// Transactions that ran at once can't be put in an order; try again.
    public static let serializationFailure = Code("40001")
    /// Transactions waited for each other; try again.
    public static let deadlockDetected = Code("40P01")
    /// A lock is held by another, and was not waited for or not long enough.
    public static let lockNotAvailable = Code("55P03")
    /// The statement was cancelled, or ran longer than `statement_timeout`.
    public static let queryCanceled = Code("57014")

    // Resources

    /// The server's disk is full.
    public static let diskFull = Code("53100")
    /// The server's memory ran out.
    public static let outOfMemory = Code("53200")
    /// A text or a count is larger than the server's limits.
    public static let programLimitExceeded = Code("54000")

    // The SQL and the schema

    /// The server can't do this; also when a prepared statement's columns have changed under it.
    public static let featureNotSupported = Code("0A000")
    /// No prepared statement has this name.
    public static let undefinedPreparedStatement = Code("26000")
    /// The role may not do this.
    public static let insufficientPrivilege = Code("42501")
    /// The SQL can't be read.
    public static let syntaxError = Code("42601")
    /// There is no such column.
    public static let undefinedColumn = Code("42703")
    /// The types don't go together.
    public static let datatypeMismatch = Code("42804")
    /// There is no such function or operator.
    public static let undefinedFunction = Code("42883")
    /// There is no such table.
    public static let undefinedTable = Code("42P01")
    /// There is a table of this name already.
    public static let duplicateTable = Code("42P07")
    /// There is an object of this name already: a role, a constraint.
    public static let duplicateObject = Code("42710")
    /// There is no such schema.
    public static let undefinedSchema = Code("3F000")
    /// The server failed in a way that it should not.
    public static let internalError = Code("XX000")

    // This library's own

    /// The connection string is none.
    public static let invalidConnectionString = Code("HF001")
    /// The server is older than PostgreSQL 13.
    public static let unsupportedServer = Code("HF002")
    /// Every connection of the pool was lent for as long as one may wait.
    public static let poolExhausted = Code("HF003")
    /// The pool was closed.
    public static let poolClosed = Code("HF004")
    /// The call makes no sense for this statement: COPY where a query is expected, or the other way round.
    public static let misuse = Code("HF005")
    /// A row has another value than its statement should give: a null, or one of another type.
    public static let unexpectedValue = Code("HF007")
    /// The system has no descriptor left.
    public static let outOfDescriptors = Code("HF006")
  }
}

extension PostgresError.Code: CustomStringConvertible {
  /// The five characters.
  public var description: String { rawValue }
}
