internal import CPostgres

/// Statements in a pipeline. Their answers are read after all are sent; see `PostgresConnection.pipeline`.
public final class PostgresPipeline {
  /// The expected answers, in order.
  enum Step {
    case prepare(PostgresStatement)
    case run(PostgresStatement, types: [UInt32])

    var statement: PostgresStatement {
      switch self {
      case .prepare(let statement), .run(let statement, _): statement
      }
    }
  }

  private let owner: PostgresConnection
  private(set) var steps: [Step] = []
  /// The first error while sending. Later statements are skipped.
  private(set) var failure: PostgresError?
  /// The number of bytes passed to libpq since its buffer was last empty.
  private var unsent = 0

  /// The number of statements sent.
  public private(set) var count = 0

  /// The number of bytes passed to libpq that triggers a flush.
  private static let unsentLimit = 64 * 1024

  init(_ owner: PostgresConnection) { self.owner = owner }

  /// Sends a statement, or buffers it.
  ///
  /// Errors are thrown at the end of the pipeline, both those of the server and a text with U+0000.
  /// - Parameters:
  ///   - statement: exactly one statement; BEGIN and COMMIT too.
  ///   - parameters: one for each parameter, with the types of its first use.
  /// - Returns: the index of its rows in the result of `pipeline`, from 0.
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
    steps.append(.run(statement, types: parameters.types))
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
