import HoldfastPostgres
import HoldfastService

/// The statements for requests with ids.
enum PostgresRequestStatements {
  static let find: PostgresStatement = """
    SELECT fingerprint, at, status, head, body FROM holdfast.requests WHERE device = $1 AND request_id = $2
    """
  static let findCreated: PostgresStatement = """
    SELECT fingerprint, place, record_table, record_id FROM holdfast.created
    WHERE device = $1 AND request_id = $2 ORDER BY place
    """
  static let findLast: PostgresStatement = """
    SELECT number, bytes_before + bytes FROM holdfast.requests WHERE device = $1 ORDER BY number DESC LIMIT 1
    """
  static let findOldest = PostgresStatement(
    """
    SELECT number, at, bytes_before FROM holdfast.requests WHERE device = $1
    ORDER BY number LIMIT \(RequestRetention.step)
    """)

  private static let purge: PostgresStatement =
    "DELETE FROM holdfast.requests WHERE device = $1 AND number <= $2"
  // Replaces an expired answer under the same id.
  private static let put: PostgresStatement = """
    INSERT INTO holdfast.requests
      (device, request_id, number, bytes_before, bytes, at, fingerprint, status, head, body)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
    ON CONFLICT (device, request_id) DO UPDATE SET number = excluded.number, bytes_before = excluded.bytes_before,
      bytes = excluded.bytes, at = excluded.at, fingerprint = excluded.fingerprint, status = excluded.status,
      head = excluded.head, body = excluded.body
    """
  private static let change: PostgresStatement = """
    UPDATE holdfast.requests SET at = $3, fingerprint = $4, head = $5, body = $6 WHERE device = $1 AND request_id = $2
    """
  private static let putCreated: PostgresStatement = """
    INSERT INTO holdfast.created (device, request_id, place, account, fingerprint, record_table, record_id)
    SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::bytea[], $6::text[], $7::text[])
    """

  /// Writes the additions and purges of a transaction.
  static func write(_ requests: RequestDelta, _ pipe: PostgresPipeline) {
    for (device, number) in requests.purged { pipe.send(purge, PostgresParameters(device, number)) }
    for addition in requests.additions {
      let (request, answer) = (addition.answered.request, addition.answered.answer)
      pipe.send(
        put,
        PostgresParameters(
          addition.device, request.id, addition.number, addition.before, answer.size, addition.answered.at,
          request.fingerprint, Int64(answer.status), answer.head, answer.body))
    }
    for (device, answered) in requests.changes {
      let (request, answer) = (answered.request, answered.answer)
      pipe.send(
        change,
        PostgresParameters(device, request.id, answered.at, request.fingerprint, answer.head, answer.body))
    }
    let records = requests.created
    if records.isEmpty { return }
    var parameters = PostgresParameters()
    parameters.append(array: records.lazy.map(\.device))
    parameters.append(array: records.lazy.map(\.request.id))
    parameters.append(array: records.lazy.map { Int64($0.record.place) })
    parameters.append(array: records.lazy.map(\.user))
    parameters.append(array: records.lazy.map(\.request.fingerprint))
    parameters.append(array: records.lazy.map(\.record.table))
    parameters.append(array: records.lazy.map(\.record.id))
    pipe.send(putCreated, parameters)
  }
}
