internal import CPostgres

/// Statements on their way to the server, whose answers are read when all are sent; see
/// `PostgresConnection.pipeline`.
public final class PostgresPipeline {
  /// What the server will answer, in order.
  enum Step {
    case prepare(PostgresStatement)
    case run(PostgresStatement)

    var statement: PostgresStatement {
      switch self {
      case .prepare(let statement), .run(let statement): statement
      }
    }
  }

  private let owner: PostgresConnection
  private(set) var steps: [Step] = []
  /// The first thing that went wrong with sending; what is sent after it is passed over.
  private(set) var failure: PostgresError?
  /// Bytes given to libpq since it last had none left to send.
  private var unsent = 0

  /// How many statements were sent.
  public private(set) var count = 0

  /// How much may be given to libpq before it is made to send it.
  private static let unsentLimit = 64 * 1024

  init(_ owner: PostgresConnection) { self.owner = owner }

  /// Sends a statement, or puts it in the buffer of what will be sent.
  ///
  /// What is wrong with it shows when the pipeline ends: a text that holds U+0000, what the server finds.
  /// - Parameters:
  ///   - statement: exactly one statement; BEGIN and COMMIT too.
  ///   - parameters: as many as the statement has, with the types of its first use.
  /// - Returns: the number, from 0, of its rows in what `pipeline` returns.
  @discardableResult
  public func send(
    _ statement: PostgresStatement, _ parameters: PostgresParameters = PostgresParameters()
  ) -> Int {
    count += 1
    if failure == nil {
      do throws(PostgresError) {
        try pass(statement, parameters)
      } catch {
        failure = error
      }
    }
    return count - 1
  }

  private func pass(
    _ statement: PostgresStatement, _ parameters: PostgresParameters
  ) throws(PostgresError) {
    try parameters.check(for: statement.sql)
    let connection = owner.connection
    owner.options.onStatement?(statement.sql)
    let isPrepared = owner.options.preparesStatements
    if isPrepared, !owner.prepared.contains(statement, parameters.types) {
      let count = Int32(clamping: parameters.count)
      try check(
        PQsendPrepare(connection, statement.name, statement.sql, count, parameters.types), statement)
      owner.prepared.insert(statement, parameters.types)
      steps.append(.prepare(statement))
    }
    let sent = parameters.withPointers { list in
      isPrepared
        ? PQsendQueryPrepared(
          connection, statement.name, list.count, list.values, list.lengths, list.formats, 1)
        : PQsendQueryParams(
          connection, statement.sql, list.count, list.types, list.values, list.lengths, list.formats, 1)
    }
    try check(sent, statement)
    steps.append(.run(statement))
    unsent += parameters.bytes.count + 64
    if unsent > Self.unsentLimit {
      try owner.flush()
      unsent = 0
    }
  }

  private func check(_ result: Int32, _ statement: PostgresStatement) throws(PostgresError) {
    guard result == 0 else { return }
    throw PostgresError(nil, of: owner.connection, while: .running, statement: statement.sql)
  }
}
