internal import CPostgres
import HoldfastSystem

/// The calls of a connection that took too long, until they are reported.
///
/// The statements of a pipeline are reported as one: the server sends their answers together. The plan is `EXPLAIN EXECUTE` of the generic
/// plan, without values, which runs nothing. It is asked for outside of transactions, as a failure would end an open one. A server that does
/// not answer soon costs the connection, and not the answer that is there already. Source:
/// <https://www.postgresql.org/docs/15/sql-explain.html>.
final class SlowQueries {
  /// How many calls wait for the end of their transaction. Further ones are not reported.
  private static let waitingLimit = 8
  /// How many different statements of a pipeline a report has.
  private static let statementLimit = 8
  /// How long the server may be silent while it is asked for a plan.
  private static let patience = Duration.seconds(2)

  private struct Statement {
    let sql: String
    let types: [UInt32]
  }

  private struct Call {
    let text: String
    let statements: [Statement]
    let duration: Duration
  }

  private let slow: SlowStatements?
  private var waiting: [Call] = []

  init(_ options: PostgresOptions) { slow = options.slow }

  /// The time when a call begins; nil if slow statements are not reported.
  var start: ContinuousClock.Instant? { slow == nil ? nil : .now }

  /// Notes the statements of a call, if it took too long, and reports what waits.
  func add(
    _ steps: [PostgresPipeline.Step], since start: ContinuousClock.Instant?,
    on connection: PostgresConnection
  ) {
    guard let duration = tooLong(since: start, on: connection) else { return }
    var statements: [Statement] = []
    var known: Set<PostgresStatement> = []
    for case .run(let statement, let types) in steps where known.count < Self.statementLimit {
      if known.insert(statement).inserted { statements.append(Statement(sql: statement.sql, types: types)) }
    }
    let text = statements.map(\.sql).joined(separator: ";\n")
    note(Call(text: text, statements: statements, duration: duration), on: connection)
  }

  /// Notes a call of statements whose text may have values, of which only the name is reported.
  func add(_ name: String, since start: ContinuousClock.Instant?, on connection: PostgresConnection) {
    guard let duration = tooLong(since: start, on: connection) else { return }
    note(Call(text: name, statements: [], duration: duration), on: connection)
  }

  private func tooLong(
    since start: ContinuousClock.Instant?, on connection: PostgresConnection
  ) -> Duration? {
    guard let slow, let start else { return nil }
    let duration = start.duration(to: .now)
    if duration >= slow.limit { return duration }
    if !waiting.isEmpty { report(on: connection) }
    return nil
  }

  private func note(_ call: Call, on connection: PostgresConnection) {
    if waiting.count < Self.waitingLimit { waiting.append(call) }
    report(on: connection)
  }

  /// Reports what waits, if the connection is outside a transaction or lost.
  private func report(on connection: PostgresConnection) {
    let isLost = !connection.isUsable
    guard let slow, isLost || connection.transactionStatus == .idle else { return }
    let calls = waiting
    waiting = []
    for call in calls {
      slow.report(call.text, took: call.duration) {
        isLost
          ? [] : connection.withSilenceLimit(Self.patience) { plan(of: call.statements, over: connection) }
      }
    }
  }

  /// The plans of statements, each line with the statement's number if there are several.
  private func plan(of statements: [Statement], over connection: PostgresConnection) -> [String] {
    var lines: [String] = []
    let isOne = statements.count == 1
    for (number, statement) in statements.enumerated() where Self.hasPlan(statement.sql) {
      lines += plan(of: statement, over: connection).map { isOne ? $0 : "\(number + 1): \($0)" }
    }
    return lines
  }

  private static func hasPlan(_ sql: String) -> Bool {
    ["SELECT", "INSERT", "UPDATE", "DELETE", "WITH"].contains { sql.utf8.starts(with: $0.utf8) }
  }

  private func plan(of statement: Statement, over connection: PostgresConnection) -> [String] {
    let name = "holdfast_slow"
    // Planning waits for no lock of a migration, and takes no longer than the statement.
    defer { run("ROLLBACK") }
    guard
      run(
        """
        BEGIN READ ONLY; SET LOCAL lock_timeout = '100ms'; SET LOCAL statement_timeout = '1s';
        SET LOCAL plan_cache_mode = force_generic_plan
        """)
    else { return [] }
    let isPrepared = run { connection in
      PQsendPrepare(connection, name, statement.sql, Int32(clamping: statement.types.count), statement.types)
    }
    guard isPrepared, run("SAVEPOINT explained") else { return [] }
    let nulls = statement.types.map { _ in "NULL" }.joined(separator: ", ")
    let result = try? connection.exchange {
      PQsendQuery($0, "EXPLAIN EXECUTE \(name)\(nulls.isEmpty ? "" : "(\(nulls))")")
    }
    defer { PQclear(result) }
    // The name is free again, also after a failure.
    _ = run("ROLLBACK TO SAVEPOINT explained; DEALLOCATE \(name)")
    guard PQresultStatus(result) == PGRES_TUPLES_OK else { return [] }
    return (0..<PQntuples(result)).compactMap { row in
      PQgetvalue(result, row, 0).map { String(cString: $0) }
    }

    @discardableResult func run(_ sql: String) -> Bool { run { PQsendQuery($0, sql) } }

    func run(_ send: (OpaquePointer) -> Int32) -> Bool {
      let result = try? connection.exchange(send)
      defer { PQclear(result) }
      return PQresultStatus(result) == PGRES_COMMAND_OK
    }
  }
}
