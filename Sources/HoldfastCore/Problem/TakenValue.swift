/// The members `record`, `columns` and `proposal` of a `unique-taken` problem.
public struct TakenValue: Hashable, Sendable {
  /// The id of the record that has the value, in the zone of the refused record.
  public let record: String
  /// The columns whose combined values are unique.
  public let columns: [String]
  /// A free value for a single text column; nil if none was found.
  public var proposal: Proposal?

  /// A proposed value of a column.
  public struct Proposal: Hashable, Sendable {
    /// The name of the column.
    public let column: String
    /// The value.
    public let value: String

    /// Creates a proposal.
    public init(column: String, value: String) { (self.column, self.value) = (column, value) }
  }

  /// Creates a taken value.
  public init(record: String, columns: [String], proposal: Proposal? = nil) {
    self.record = record
    self.columns = columns
    self.proposal = proposal
  }

  /// Parses the form of `write`; nil if the members are absent.
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

  /// Writes the members into the problem document.
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
