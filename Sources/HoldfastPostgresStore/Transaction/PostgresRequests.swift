import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// The requests with ids in PostgreSQL.
final class PostgresRequests: RequestTable {
  private unowned let store: PostgresStore

  init(_ store: PostgresStore) { self.store = store }

  func request(_ id: String, of device: Int64) throws -> RememberedRequest {
    let answers = try store.reading.pipeline { pipe in _ = Self.ask(id, of: device, pipe) }
    return RememberedRequest(answers[...], id)
  }

  func creators(of ids: [String], in table: Int, for user: String) throws -> TextMap<String> {
    let rows = try store.reading.query(
      PostgresRecordStatements.findCreators, Self.parameters(store.schema.tables[table].name, ids, user))
    return Self.creators(rows)
  }

  /// Sends the 4 statements that read the stored state of a request.
  ///
  /// - Returns: the index of the first answer.
  private static func ask(_ id: String, of device: Int64, _ pipe: PostgresPipeline) -> Int {
    let number = pipe.send(PostgresRequestStatements.find, PostgresParameters(device, id))
    pipe.send(PostgresRequestStatements.findCreated, PostgresParameters(device, id))
    pipe.send(PostgresRequestStatements.findLast, PostgresParameters(device))
    pipe.send(PostgresRequestStatements.findOldest, PostgresParameters(device))
    return number
  }

  private static func parameters(_ table: String, _ ids: [String], _ user: String) -> PostgresParameters {
    var parameters = PostgresParameters(user, table)
    parameters.append(array: ids)
    return parameters
  }

  private static func creators(_ rows: PostgresRows) -> TextMap<String> {
    TextMap(rows.indices.map { (rows.text($0, 0), rows.text($0, 1)) })
  }

  /// The queries for the commands of a transaction, and the indexes of their answers.
  struct Asked {
    private var requests: [(place: RequestPlace, number: Int)] = []
    private var creators: [(table: Int, ids: [String], user: String, number: Int)] = []

    /// Sends the queries for the commands' footprints. Their devices must be locked before.
    init(_ footprints: [Footprint], _ schema: SyncSchema, _ pipe: PostgresPipeline) {
      for footprint in footprints {
        if let id = footprint.request, let device = footprint.device {
          requests.append(
            (RequestPlace(device: device.number, id: id), ask(id, of: device.number, pipe)))
        }
        guard let user = footprint.user else { continue }
        for (table, keys) in Dictionary(grouping: footprint.shown, by: \.table) {
          let ids = keys.map(\.id)
          let number = pipe.send(
            PostgresRecordStatements.findCreators, parameters(schema.tables[table].name, ids, user))
          creators.append((table, ids, user, number))
        }
      }
    }

    /// Adds the answers of the database.
    func learn(_ answers: [PostgresRows], _ fetched: inout Fetched) {
      for (place, number) in requests {
        fetched.requests[place] = RememberedRequest(answers[number..<number + 4], place.id)
      }
      for (table, ids, user, number) in creators {
        let found = PostgresRequests.creators(answers[number])
        for id in ids {
          let creator = Creator(record: Footprint.Key(table: table, id: id), user: user)
          fetched.creators[creator] = .some(found[id])
        }
      }
    }
  }
}

extension RememberedRequest {
  /// Decodes the answers to the statements of `ask`, in their order.
  fileprivate init(_ answers: ArraySlice<PostgresRows>, _ id: String) {
    let answers = Array(answers)
    let (answer, created, last, oldest) = (answers[0], answers[1], answers[2], answers[3])
    self.init(
      answer: answer.isEmpty
        ? nil
        : AnsweredRequest(
          request: RequestKey(id: id, fingerprint: answer.bytes(0, 0)), at: answer.int64(0, 1),
          answer: RestAnswer(
            status: Int(clamping: answer.int64(0, 2)), head: answer.text(0, 3), body: answer.bytes(0, 4))),
      created: created.isEmpty
        ? nil
        : CreatedRecords(
          request: RequestKey(id: id, fingerprint: created.bytes(0, 0)),
          records: created.indices.map { row in
            CreatedRecord(
              place: Int(clamping: created.int64(row, 1)), table: created.text(row, 2),
              id: created.text(row, 3))
          }),
      line: RequestLine(
        oldest: oldest.indices.map { row in
          RequestRetention.Entry(
            number: oldest.int64(row, 0), at: oldest.int64(row, 1), before: oldest.int64(row, 2))
        }, number: last.isEmpty ? 0 : last.int64(0, 0), end: last.isEmpty ? 0 : last.int64(0, 1)))
  }
}
