import HoldfastCore

extension ChangeSetRun {
  /// How many values are tried for a proposal.
  private static let tries = 20

  /// Adds a record.
  func insert(_ record: Record) throws {
    try proposing(for: record) { try stores.tables[record.table].insert(record) }
    note(record)
  }

  /// Writes a record that is there already.
  func replace(_ record: Record) throws {
    try proposing(for: record) { try stores.tables[record.table].update(record) }
    note(record)
  }

  /// Adds to a refusal for a unique value that is taken one that is free.
  private func proposing(for record: Record, _ body: () throws -> Void) throws {
    do { try body() } catch let problem as Problem {
      guard var taken = problem.taken else { throw problem }
      taken.proposal = try proposal(for: record, taken.columns)
      var told = problem
      told.taken = taken
      throw told
    }
  }

  private func proposal(for record: Record, _ columns: [String]) throws -> TakenValue.Proposal? {
    let store = stores.tables[record.table]
    let indexes = columns.compactMap { store.table.index(of: $0) }
    guard !store.table.isBuiltIn, let index = indexes.first(where: { store.table.columns[$0].type == .text }),
      let text = record.values[index].text
    else { return nil }
    let column = store.table.columns[index]
    var candidate = record
    for number in 2..<(2 + Self.tries) {
      let value = "\(text) \(number)"
      candidate.values[index] = .text(value)
      // The next would be no shorter, and in no list of values either.
      do { try column.check(candidate.values[index]) } catch { return nil }
      if try store.holder(of: columns, like: candidate) == nil {
        return .init(column: column.name, value: value)
      }
    }
    return nil
  }
}
