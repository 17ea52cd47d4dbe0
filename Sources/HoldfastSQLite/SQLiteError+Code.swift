internal import CSQLite

extension SQLiteError {
  /// SQLite's extended result code.
  ///
  /// Codes without a name here can be compared by `rawValue`. Compare `primary` to treat a whole family alike. Source:
  /// <https://www.sqlite.org/rescode.html>.
  public struct Code: RawRepresentable, Sendable, Hashable {
    /// SQLite's number: the primary code in the low 8 bits, the detail above.
    public let rawValue: Int32

    /// Creates a code from SQLite's number.
    public init(rawValue: Int32) { self.rawValue = rawValue }

    private init(_ primary: Int32, _ detail: Int32 = 0) { rawValue = primary | detail << 8 }

    /// The family of this code: `constraint` for `constraintUnique`.
    public var primary: Code { Code(rawValue: rawValue & 0xff) }

    /// The SQL is wrong, or the statement failed in a way that has no code of its own.
    public static let error = Code(SQLITE_ERROR)
    /// A busy handler, trigger or hook requested an abort.
    public static let abort = Code(SQLITE_ABORT)
    /// The transaction under a running statement was rolled back.
    public static let abortRollback = Code(SQLITE_ABORT, 2)
    /// Another connection holds the lock, even after the busy timeout.
    public static let busy = Code(SQLITE_BUSY)
    /// A read transaction can't become a write transaction because its snapshot is no longer the newest.
    public static let busySnapshot = Code(SQLITE_BUSY, 2)
    /// A statement of the same connection holds the lock.
    public static let locked = Code(SQLITE_LOCKED)
    /// Others were faster with the locks of the write-ahead log, time and again. It passes.
    public static let lockRace = Code(SQLITE_PROTOCOL)
    /// Out of memory.
    public static let outOfMemory = Code(SQLITE_NOMEM)
    /// The database or file is read-only.
    public static let readOnly = Code(SQLITE_READONLY)
    /// The file was moved, replaced or deleted since it was opened.
    public static let readOnlyMoved = Code(SQLITE_READONLY, 4)
    /// An `Interrupter` stopped the statement.
    public static let interrupt = Code(SQLITE_INTERRUPT)
    /// The file system reported an error.
    public static let ioError = Code(SQLITE_IOERR)
    /// A file has less than what was to be read of it: for one, a write-ahead log that was deleted, and whose index was not.
    public static let shortLog = Code(SQLITE_IOERR, 2)
    /// The file is damaged.
    public static let corrupt = Code(SQLITE_CORRUPT)
    /// The disk, or the database's maximum size, is full.
    public static let full = Code(SQLITE_FULL)
    /// The file can't be opened.
    public static let cantOpen = Code(SQLITE_CANTOPEN)
    /// The schema changed while the statement ran.
    public static let schema = Code(SQLITE_SCHEMA)
    /// A value or statement is larger than its limit.
    public static let tooBig = Code(SQLITE_TOOBIG)
    /// The value's type does not fit the column.
    public static let mismatch = Code(SQLITE_MISMATCH)
    /// The call is invalid: two statements instead of one, or binding while a statement runs.
    public static let misuse = Code(SQLITE_MISUSE)
    /// No parameter has this number, or the number of values is wrong.
    public static let range = Code(SQLITE_RANGE)
    /// The file is not an SQLite database (or is an encrypted one).
    public static let notADatabase = Code(SQLITE_NOTADB)
    /// A constraint failed; the family of the codes below.
    public static let constraint = Code(SQLITE_CONSTRAINT)
    /// A CHECK failed.
    public static let constraintCheck = Code(SQLITE_CONSTRAINT, 1)
    /// A foreign key has no parent, or a parent still has children.
    public static let constraintForeignKey = Code(SQLITE_CONSTRAINT, 3)
    /// A NOT NULL column has no value.
    public static let constraintNotNull = Code(SQLITE_CONSTRAINT, 5)
    /// The primary key exists already.
    public static let constraintPrimaryKey = Code(SQLITE_CONSTRAINT, 6)
    /// A trigger called RAISE.
    public static let constraintTrigger = Code(SQLITE_CONSTRAINT, 7)
    /// A UNIQUE constraint or index has this value already.
    public static let constraintUnique = Code(SQLITE_CONSTRAINT, 8)
    /// The rowid exists already.
    public static let constraintRowID = Code(SQLITE_CONSTRAINT, 10)
    /// A STRICT table rejects the value's type.
    public static let constraintDatatype = Code(SQLITE_CONSTRAINT, 12)
  }
}

extension SQLiteError.Code: CustomStringConvertible {
  /// SQLite's English text for the code, and its number.
  public var description: String {
    let text = sqlite3_errstr(rawValue).map { String(cString: $0) } ?? "unknown error"
    return "\(text) (\(rawValue))"
  }

  /// Whether SQLite's message for this code names only tables, columns and constraints, never a value.
  var namesOnlySchema: Bool {
    switch self {
    case .constraintCheck, .constraintForeignKey, .constraintNotNull, .constraintPrimaryKey,
      .constraintUnique,
      .constraintRowID, .constraintDatatype:
      true
    default: false
    }
  }
}
