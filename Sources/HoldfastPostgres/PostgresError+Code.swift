extension PostgresError {
  /// The SQLSTATE of an error: five characters, the first two of which are the class.
  ///
  /// Codes without a name here can be compared by `rawValue`. The class `HF` is this library's own, for errors that no server reports.
  /// Source: <https://www.postgresql.org/docs/15/errcodes-appendix.html>.
  public struct Code: RawRepresentable, Sendable, Hashable {
    /// The five characters.
    public let rawValue: String

    /// Creates a code from its five characters.
    public init(rawValue: String) { self.rawValue = rawValue }

    private init(_ text: String) { rawValue = text }

    /// The class: the first two characters. `23` is that of all constraint violations.
    public var classCode: String { String(rawValue.prefix(2)) }

    /// Whether a constraint was violated: class 23.
    public var isConstraint: Bool { rawValue.hasPrefix("23") }

    /// Whether the connection failed: class 08.
    public var isConnection: Bool { rawValue.hasPrefix("08") }

    /// Whether the server lacks memory, disk space or connections: class 53.
    public var isInsufficientResources: Bool { rawValue.hasPrefix("53") }

    // Connections

    /// No connection could be opened.
    public static let cannotConnect = Code("08001")
    /// The connection broke.
    public static let connectionLost = Code("08006")
    /// The role or its authentication method is refused.
    public static let invalidAuthorization = Code("28000")
    /// The password is wrong.
    public static let invalidPassword = Code("28P01")
    /// The database does not exist.
    public static let undefinedDatabase = Code("3D000")
    /// The server has reached its maximum number of connections.
    public static let tooManyConnections = Code("53300")
    /// An administrator ended the connection, or the server is stopping.
    public static let adminShutdown = Code("57P01")
    /// Another server process crashed, which ended all connections.
    public static let crashShutdown = Code("57P02")
    /// The server is starting, stopping or recovering.
    public static let cannotConnectNow = Code("57P03")

    // Constraints and values

    /// A NOT NULL column has no value.
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
    /// A text contains U+0000 or invalid UTF-8.
    public static let invalidText = Code("22021")
    /// The text of a value is invalid for its type.
    public static let invalidTextRepresentation = Code("22P02")
    /// The bytes of a value are invalid for its type.
    public static let invalidBinaryRepresentation = Code("22P03")
    /// Division by zero.
    public static let divisionByZero = Code("22012")
    /// A function or trigger raised an error.
    public static let raisedException = Code("P0001")

    // Transactions and locks

    /// The transaction is read-only.
    public static let readOnlyTransaction = Code("25006")
    /// An earlier statement of the transaction failed, so this one was not run.
    public static let transactionAborted = Code("25P02")
    /// Concurrent transactions can't be serialized. Retry.
    public static let serializationFailure = Code("40001")
    /// Transactions waited for each other. Retry.
    public static let deadlockDetected = Code("40P01")
    /// A lock is held by another transaction, and was not waited for, or not long enough.
    public static let lockNotAvailable = Code("55P03")
    /// The operation needs another state of what it is about.
    public static let objectNotInPrerequisiteState = Code("55000")
    /// The statement was cancelled, or ran longer than `statement_timeout`.
    public static let queryCanceled = Code("57014")

    // Resources

    /// The server's disk is full.
    public static let diskFull = Code("53100")
    /// The server is out of memory.
    public static let outOfMemory = Code("53200")
    /// A text or a number exceeds the server's limits.
    public static let programLimitExceeded = Code("54000")

    // The SQL and the schema

    /// The server does not support this. Also reported when a table's columns have changed under a prepared statement.
    public static let featureNotSupported = Code("0A000")
    /// The prepared statement does not exist.
    public static let undefinedPreparedStatement = Code("26000")
    /// A prepared statement of this name exists already, as behind a pooler in transaction mode.
    public static let duplicatePreparedStatement = Code("42P05")
    /// The role lacks the privilege.
    public static let insufficientPrivilege = Code("42501")
    /// The SQL is invalid.
    public static let syntaxError = Code("42601")
    /// The column does not exist.
    public static let undefinedColumn = Code("42703")
    /// The types do not match.
    public static let datatypeMismatch = Code("42804")
    /// The function or operator does not exist.
    public static let undefinedFunction = Code("42883")
    /// The table does not exist.
    public static let undefinedTable = Code("42P01")
    /// The table exists already.
    public static let duplicateTable = Code("42P07")
    /// The object exists already: a role or a constraint.
    public static let duplicateObject = Code("42710")
    /// Something else depends on what was to be dropped.
    public static let dependentObjectsStillExist = Code("2BP01")
    /// The schema does not exist.
    public static let undefinedSchema = Code("3F000")
    /// An internal error of the server.
    public static let internalError = Code("XX000")

    // This library's own

    /// The connection string is invalid.
    public static let invalidConnectionString = Code("HF001")
    /// The server is older than PostgreSQL 13.
    public static let unsupportedServer = Code("HF002")
    /// Every connection of the pool was lent for the whole waiting time.
    public static let poolExhausted = Code("HF003")
    /// The pool was closed.
    public static let poolClosed = Code("HF004")
    /// The call does not fit this statement: COPY where a query is expected, or the reverse.
    public static let misuse = Code("HF005")
    /// A row's value differs from the expected one: a null, or a value of another type.
    public static let unexpectedValue = Code("HF007")
    /// The system has no more descriptors.
    public static let outOfDescriptors = Code("HF006")
  }
}

extension PostgresError.Code: CustomStringConvertible {
  /// The five characters.
  public var description: String { rawValue }
}
