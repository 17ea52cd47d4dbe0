import Foundation
import HoldfastCore
import HoldfastSQLite

/// Whether the values of a loose record can be sent, and will be taken.
struct SendableValues {
  let database: LocalDatabase

  private var schema: SyncSchema { database.schema }

  /// Why a record can't be sent, and what stands for its values in quarantine.
  struct Fault {
    let problem: Problem
    var values: [Int: JSONValue] = [:]
  }

  /// From this size on a record is a change set of its own.
  private static let large = 1 << 20

  /// Whether a record is large enough to be a change set of its own.
  func isLarge(_ record: LooseRecord) throws -> Bool { try size(of: record) > Self.large }

  /// Whether the server is likely to refuse a record: it is not to take others along.
  func isDoubtful(_ record: LooseRecord) throws -> Bool {
    guard record.lives.last != .delete, let row = try database.row(record.table, record.id) else {
      return false
    }
    let table = schema.tables[record.table]
    if record.lives.last == .create, !Identifier.isUUID(record.id) { return true }
    if try isLarge(record) { return true }
    return try columns(of: record).contains { column in
      try (try? table.columns[column].checkSent(row.values[column])) == nil
        || isDangling(row.values[column], of: record, column)
    }
  }

  /// Whether a reference inside the zone names no record here.
  private func isDangling(_ value: Value, of record: LooseRecord, _ column: Int) throws -> Bool {
    guard case .text(let id) = value,
      let link = schema.links(of: record.table).first(where: { $0.column == column && $0.isInZone })
    else { return false }
    return try database.row(link.target, id) == nil
  }

  /// What is wrong with a record that was created or changed here, but for what the server can refuse by name.
  func fault(_ record: LooseRecord) throws -> Fault? {
    guard record.lives.last != .delete, let row = try database.storedRow(record.table, record.id) else {
      return nil
    }
    return fault(record, row.values)
  }

  /// The same.
  ///
  /// - Parameter values: of the record, in the order of the table's columns.
  func fault(_ record: LooseRecord, _ values: [SQLiteValue]) -> Fault? {
    var found: Fault?
    for index in columns(of: record) {
      let column = schema.tables[record.table].columns[index]
      guard let (problem, value) = column.unsendable(values[index]) else { continue }
      if found == nil { found = Fault(problem: problem) }
      found?.values[index] = value
    }
    return found
  }

  /// The columns whose values are sent.
  private func columns(of record: LooseRecord) -> [Int] {
    record.lives.last == .create
      ? Array(schema.tables[record.table].columns.indices) : record.updates.map(\.column)
  }

  /// How many bytes the values have that are sent, and those that they are based on.
  private func size(of record: LooseRecord) throws -> Int {
    let values = try database.row(record.table, record.id)?.values ?? []
    return columns(of: record).reduce(0) { $0 + (values.indices.contains($1) ? values[$1].size : 0) }
      + record.updates.reduce(0) { $0 + $1.base.size }
  }
}

extension Value {
  fileprivate var size: Int { if case .text(let text) = self { text.utf8.count } else { 8 } }
}

extension ColumnSchema {
  /// Why a value of the database can't be sent, and how it is shown; nil for one that can, if only to be refused.
  fileprivate func unsendable(_ value: SQLiteValue) -> (Problem, JSONValue)? {
    func wrong(_ what: String, _ shown: JSONValue) -> (Problem, JSONValue) {
      (Problem(.invalidValue, "\(name) \(what)."), shown)
    }
    switch value {
    case .blob(let bytes):
      return wrong(
        "holds bytes that are no text in UTF-8",
        .object([.init("base64", .string(Data(bytes).base64EncodedString()))]))
    case .real(let number) where !number.isFinite:
      return wrong("must be finite", .string("\(number)"))
    case .text(let text) where type == .json && !isReadable(text):
      do throws(Problem) { try check(.text(text)) } catch { return (error, .string(text)) }
      return nil
    default: return nil
    }
  }

  /// Whether a text is JSON that a message can hold.
  func isReadable(_ text: String) -> Bool {
    (try? JSONReader.read(text, maximumDepth: ColumnSchema.jsonDepthLimit, { try $0.skipValue() })) != nil
  }
}
