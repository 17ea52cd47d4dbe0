import Holdfast
import HoldfastCore
import HoldfastSQLite

/// How a document of CouchDB becomes a record: docs/MIGRATING.md, "From CouchDB or PouchDB".
struct CouchMapping {
  let schema: SyncSchema
  /// The member that names a document's table.
  let tableMember: String

  /// What a document is here.
  enum Result {
    case record(ImportedRecord, hasAttachments: Bool)
    /// A document that was deleted: the record of this key in whichever table has it.
    case deleted(key: String)
    /// A document of another kind, with the name of it.
    case ignored(String)
  }

  func map(_ document: JSONValue) -> Result {
    let id = document["_id"]?.stringValue ?? ""
    if id.isEmpty || id.hasPrefix("_design/") { return .ignored("_design") }
    if document["_deleted"] == true { return .deleted(key: id) }
    let prefix = id.split(separator: ":", maxSplits: 1)
    let kind = document[tableMember]?.stringValue ?? (prefix.count > 1 ? String(prefix[0]) : "")
    guard let table = table(of: kind) else { return .ignored(kind) }
    var columns: TextMap<SQLiteValue> = [:]
    for member in document.members ?? [] where !member.name.hasPrefix("_") {
      guard let column = column(called: member.name, in: table) else { continue }
      columns[column.name] = value(member.value, for: column)
    }
    return .record(
      ImportedRecord(table: table.name, key: id, columns: columns),
      hasAttachments: document["_attachments"] != nil)
  }

  /// The members of a document that no column has the name of.
  func ignoredMembers(of document: JSONValue, in name: String) -> [String] {
    guard let table = schema.table(name) else { return [] }
    return (document.members ?? []).map(\.name).filter { member in
      !member.hasPrefix("_") && member != tableMember && column(called: member, in: table) == nil
    }.map { "\(name).\($0)" }
  }

  /// The table that a kind of document stands for: `item` and `Items` for `items`.
  private func table(of kind: String) -> TableSchema? {
    let plain = ImportedName.snakeCase(kind)
    return [kind, plain, plain + "s"].lazy.compactMap { schema.table($0) }.first { !$0.isBuiltIn }
  }

  private func column(called name: String, in table: TableSchema) -> ColumnSchema? {
    (table.index(of: name) ?? table.index(of: ImportedName.snakeCase(name))).map { table.columns[$0] }
  }

  private func value(_ value: JSONValue, for column: ColumnSchema) -> SQLiteValue {
    switch value {
    case .null: .null
    case _ where column.type == .json: .text(String(decoding: value.bytes, as: UTF8.self))
    case .bool(let flag): column.type == .boolean ? .integer(flag ? 1 : 0) : .text(flag ? "true" : "false")
    case .integer(let number): .integer(number)
    case .real(let number): .real(number)
    case .string(let text): .text(text)
    case .array, .object: .text(String(decoding: value.bytes, as: UTF8.self))
    }
  }
}
