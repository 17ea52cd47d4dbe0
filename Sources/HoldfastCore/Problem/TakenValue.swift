/// What a problem of the code `unique-taken` says besides: its members `record`, `columns` and `proposal`.
public struct TakenValue: Hashable, Sendable {
  /// The id of the record that has the value; it is in the zone of the one that was refused.
  public let record: String
  /// The columns whose values together are unique.
  public let columns: [String]
  /// A value that was free, for one column of text; nil where none was found.
  public var proposal: Proposal?

  /// A value for a column.
  public struct Proposal: Hashable, Sendable {
    /// The name of the column.
    public let column: String
    /// The value.
    public let value: String

    /// A proposal of its parts.
    public init(column: String, value: String) { (self.column, self.value) = (column, value) }
  }

  /// A taken value of its parts.
  public init(record: String, columns: [String], proposal: Proposal? = nil) {
    self.record = record
    self.columns = columns
    self.proposal = proposal
  }

  /// Reads what `write` wrote; nil when there is nothing of the kind.
  init?(_ document: JSONValue) {
    guard let record = document["record"]?.stringValue,
      let columns = document["columns"]?.elements?.compactMap(\.stringValue)
    else { return nil }
    let member = document["proposal"]?.members?.first
    self.init(
      record: record, columns: columns,
      proposal: member.flatMap { member in
        member.value.stringValue.map { Proposal(column: member.name, value: $0) }
      })
  }

  /// Writes the members of the problem.
  func write(to writer: inout JSONWriter) {
    writer.key("record")
    writer.string(record)
    writer.key("columns")
    writer.beginArray()
    for column in columns { writer.string(column) }
    writer.endArray()
    guard let proposal else { return }
    writer.key("proposal")
    writer.beginObject()
    writer.key(named: proposal.column)
    writer.string(proposal.value)
    writer.endObject()
  }
}
