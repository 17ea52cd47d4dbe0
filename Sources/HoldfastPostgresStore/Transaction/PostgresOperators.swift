import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// Stores the audit log and the console's samples in PostgreSQL.
final class PostgresOperators: OperatorTable {
  private unowned let store: PostgresStore

  private static let add: PostgresStatement = """
    INSERT INTO holdfast.audit (id, at, action, target, detail, operator, node, address) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
    """
  private static let dropOld: PostgresStatement = "DELETE FROM holdfast.audit WHERE at < $1"
  private static let findLast: PostgresStatement =
    "SELECT id FROM holdfast.audit ORDER BY id DESC LIMIT 1 OFFSET $1"
  private static let dropLast: PostgresStatement = "DELETE FROM holdfast.audit WHERE id <= $1"
  private static let put: PostgresStatement = """
    INSERT INTO holdfast.samples (node, span, at, content) VALUES ($1, $2, $3, $4)
    ON CONFLICT (node, span, at) DO UPDATE SET content = excluded.content
    """
  private static let dropSamples: PostgresStatement =
    "DELETE FROM holdfast.samples WHERE span = $1 AND at < $2"

  init(_ store: PostgresStore) { self.store = store }

  func add(_ entry: AuditEntry, id: String, at now: Int64) throws {
    let connection = try store.connection
    var parameters = PostgresParameters(id, entry.at)
    for text in entry.texts { parameters.append(text) }
    let found = try connection.pipeline { pipe in
      pipe.send(Self.add, parameters)
      pipe.send(Self.dropOld, PostgresParameters(now - AuditEntry.life))
      pipe.send(Self.findLast, PostgresParameters(Int64(AuditEntry.countLimit)))
    }
    guard let last = found.last, !last.isEmpty else { return }
    _ = try connection.query(Self.dropLast, PostgresParameters(last.text(0, 0)))
  }

  func put(_ samples: [StoredSample], at now: Int64) throws {
    try store.connection.pipeline { pipe in
      for sample in samples {
        pipe.send(
          Self.put, PostgresParameters(sample.node, sample.span.rawValue, sample.at, sample.content))
      }
      for span in StoredSample.Span.allCases {
        pipe.send(Self.dropSamples, PostgresParameters(span.rawValue, now / 1000 - span.life))
      }
    }
  }
}
