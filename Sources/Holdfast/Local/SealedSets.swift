import HoldfastCore
import HoldfastSQLite

/// What the server will combine. The base of an edit moves on with what the server tells, that of its change
/// set never does: words that this device and another added are this device's still, when a third takes the
/// other's away.
///
/// Not Sendable: belongs to the queue of its database.
final class SealedSets {
  /// The columns of one change set that waits to be sent.
  private struct SealedSet {
    /// Tells its content from that of others.
    let chain: String
    /// By the table's index and the id, of the columns whose policy combines.
    let records: TextMap<SealedColumns>
  }

  private let connection: SQLiteConnection
  private let schema: SyncSchema
  /// The change set of the outbox whose columns were read last.
  private var last: SealedSet?

  init(connection: SQLiteConnection, schema: SyncSchema) {
    self.connection = connection
    self.schema = schema
  }

  /// What change sets of the outbox say of a record's columns whose policy combines, by the sets' numbers.
  func columns(of sets: Set<Int64>, _ table: Int, _ id: String) throws -> [Int64: SealedColumns] {
    var sealed: [Int64: SealedColumns] = [:]
    for set in sets { sealed[set] = try sealedSet(set)?.records["\(table) \(id)"] }
    return sealed
  }

  /// A set of the outbox; the last one read is kept, as an answer often has many records of one set.
  private func sealedSet(_ first: Int64) throws -> SealedSet? {
    let chain = try connection.value("SELECT chain FROM holdfast_outbox WHERE first = ?", [.integer(first)])?
      .text
    guard let chain else { return nil }
    if let last, last.chain == chain { return last }
    let body = try connection.value("SELECT body FROM holdfast_outbox WHERE first = ?", [.integer(first)])?
      .blob
    var records: TextMap<SealedColumns> = [:]
    for operation in QuarantinedOperation.all(body ?? []) where operation.kind == .update {
      guard let table = schema.index(called: operation.table) else { continue }
      for (name, base) in operation.base {
        guard let index = schema.tables[table].index(called: name) else { continue }
        let column = schema.tables[table].columns[index]
        // A foreign writer may have written what the column forbids.
        guard column.policy.combines, let base = try? column.value(of: base),
          let new = try? column.value(of: operation.columns[name])
        else { continue }
        records["\(table) \(operation.id)", default: [:]][column.name] = (base, new)
      }
    }
    let set = SealedSet(chain: chain, records: records)
    last = set
    return set
  }
}
