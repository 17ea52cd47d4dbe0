import Holdfast
import HoldfastCore

/// Imports a CouchDB database into a store.
struct CouchImport {
  let documents: CouchDocuments
  let mapping: CouchMapping
  /// Where the losing revisions of conflicts go, a line of JSON each; nil for nowhere.
  let conflicts: String?
  let namespace: String
  let isUpdating: Bool

  private static let batch = 200

  /// What came of the import.
  struct Result: Sendable {
    var report = ImportReport()
    /// How many revisions lost a conflict.
    var losers = 0
    /// The point of the feed behind all that was read.
    var sequence = "0"
  }

  func run(into store: Store, since: String) async throws -> Result {
    var records = RecordImport(into: store, namespace: namespace, isUpdating: isUpdating)
    var result = Result()
    result.sequence = since
    var ignored: TextSet = []
    var attachments: [ImportReport.Problem] = []
    while true {
      let page = try documents.page(since: result.sequence, limit: Self.batch)
      var found: [ImportedRecord] = []
      for document in page.documents {
        switch mapping.map(document) {
        case .record(let record, let hasAttachments):
          found.append(record)
          ignored.formUnion(mapping.ignoredMembers(of: document, in: record.table))
          result.losers += try keepLosers(of: document, record)
          if hasAttachments {
            attachments.append(
              .init(
                table: record.table, key: record.key, isLeftOut: false,
                reason: "Attachments are not imported. Store them as files, and their address in a column."))
          }
        case .deleted(let key):
          found += mapping.schema.tables.filter { !$0.isBuiltIn }.map {
            ImportedRecord(table: $0.name, key: key, isDeleted: true)
          }
        case .ignored(let kind): ignored.insert(kind.isEmpty ? "documents without a table" : kind)
        }
      }
      try await records.add(found)
      result.sequence = page.next
      if page.isLast { break }
    }
    result.report = try await records.finish()
    result.report.problems += attachments
    result.report.ignored = ignored.sorted()
    return result
  }

  /// Writes down the revisions of a document that lost, each with the winner.
  private func keepLosers(of document: JSONValue, _ record: ImportedRecord) throws -> Int {
    let revisions = document["_conflicts"]?.elements?.compactMap(\.stringValue) ?? []
    guard let conflicts else { return revisions.count }
    for revision in revisions {
      let loser = try documents.revision(revision, of: record.key)
      let line = JSONValue.object([
        .init("table", .string(record.table)), .init("_id", .string(record.key)), .init("winner", document),
        .init("loser", loser),
      ])
      try appendToFile(conflicts, line.bytes + [UInt8(ascii: "\n")])
    }
    return revisions.count
  }
}
