import HoldfastCore
import HoldfastSQLite

/// One row of `holdfast_edits`.
struct Edit {
  let n: Int64
  /// The first number of its change set; nil while it is loose.
  let changeSet: Int64?
  let kind: String
  let column: String
  let base: SQLiteValue
  let rev: Int64
}

/// Taking edits back: what a refused change set did here is undone, and it waits in quarantine. See PROTOCOL.md, section 6.4.
extension LocalDatabase {
  /// The edits of a record, oldest first.
  func edits(_ table: Int, _ id: String) throws -> [Edit] {
    try connection.rows(
      "SELECT n, change_set, kind, column_name, base, rev FROM holdfast_edits WHERE record_table = ? AND id = ? ORDER BY n",
      [.text(schema.tables[table].name), .text(id)]
    ).map {
      Edit(
        n: $0[0].integer ?? 0, changeSet: $0[1].integer, kind: $0[2].text ?? "", column: $0[3].text ?? "",
        base: $0[4], rev: $0[5].integer ?? 0)
    }
  }

  /// Moves a change set of the outbox into quarantine and takes its edits back; the triggers must be at rest.
  func quarantine(first: Int64, body: [UInt8], operation: Int64, problem: [UInt8]) throws {
    let rows = try connection.rows(
      "SELECT n, record_table, id FROM holdfast_edits WHERE change_set = ? ORDER BY n DESC", [.integer(first)]
    )
    for row in rows {
      guard let table = schema.index(of: row[1].text ?? ""), let id = row[2].text, let n = row[0].integer
      else { continue }
      try takeBack(n, table, id)
    }
    try connection.run(
      "INSERT INTO holdfast_quarantine (at, operation, problem, body) VALUES (?, ?, ?, ?)",
      [
        .integer(try state().clock.milliseconds), .integer(operation - first),
        .text(String(decoding: problem, as: UTF8.self)), .blob(body),
      ])
    Trace.took(.quarantined)
    try connection.run("DELETE FROM holdfast_edits WHERE change_set = ?", [.integer(first)])
    try connection.run("DELETE FROM holdfast_outbox WHERE first = ?", [.integer(first)])
  }

  private func takeBack(_ n: Int64, _ table: Int, _ id: String) throws {
    let all = try edits(table, id)
    guard let place = all.firstIndex(where: { $0.n == n }) else { return }
    let edit = all[place]
    let later = all[(place + 1)...]
    var done = [edit]
    switch edit.kind {
    case "update", "detached":
      if let heir = later.first(where: { $0.column == edit.column }) {
        try connection.run("UPDATE holdfast_edits SET base = ? WHERE n = ?", [edit.base, .integer(heir.n)])
      } else if later.contains(where: { $0.kind == "create" }) {
        // What is here is a later life of the record.
      } else if schema.tables[table].index(of: edit.column) != nil {
        Trace.took(.takenBackUpdate)
        try connection.run(
          "UPDATE \"\(schema.tables[table].name)\" SET \"\(edit.column)\" = ? WHERE \"id\" = ?",
          [edit.base, .text(id)])
      }
    case "create":
      if all[..<place].contains(where: { $0.kind == "delete" && $0.changeSet == edit.changeSet }) {
        // The same change set deleted the record before: it was there all along, and that deletion sees to what it returns to.
      } else if let end = later.first(where: { $0.kind == "delete" && $0.column.isEmpty }) {
        // It is deleted already, and that deletion has nothing to put back. What was created after it is another life.
        done += [end] + bases(of: end, later)
      } else {
        Trace.took(.takenBackCreate)
        try connection.run(sql[table].delete, [.text(id)])
      }
    default:
      // A deletion is one row, then one for each column: they are dealt with together at the first.
      guard edit.column.isEmpty else { return }
      let bases = bases(of: edit, later)
      if try handDown(edit, bases, later) { return }
      done += bases
      Trace.took(.takenBackDelete)
      if try row(table, id) != nil {
        try revert(to: edit, bases, under: later, table, id)
      } else {
        try putBack(edit, bases, table, id)
      }
    }
    for edit in done { try connection.run("DELETE FROM holdfast_edits WHERE n = ?", [.integer(edit.n)]) }
  }

  /// The rows of a deletion's columns, which follow it.
  private func bases(of deletion: Edit, _ later: ArraySlice<Edit>) -> [Edit] {
    later.drop { $0.n <= deletion.n }.prefix { $0.kind == deletion.kind && !$0.column.isEmpty }.map { $0 }
  }

  /// Gives what a deletion would put back to a later life, or end, of the record.
  ///
  /// - Returns: whether there was one.
  private func handDown(_ deletion: Edit, _ bases: [Edit], _ later: ArraySlice<Edit>) throws -> Bool {
    let next = later.first { $0.column.isEmpty && ($0.kind == "create" || $0.kind == "delete") }
    guard let next else { return false }
    if next.kind == "create" {
      // The record was there all along. If the create is refused too, it is what comes back.
      for row in [deletion] + bases {
        try connection.run(
          "UPDATE holdfast_edits SET change_set = (SELECT change_set FROM holdfast_edits WHERE n = ?) WHERE n = ?",
          [.integer(next.n), .integer(row.n)])
      }
      return true
    }
    let heirs = [next] + self.bases(of: next, later)
    for row in [deletion] + bases {
      if let heir = heirs.first(where: { $0.column == row.column }) {
        try connection.run(
          "UPDATE holdfast_edits SET base = ?, rev = ? WHERE n = ?",
          [row.base, .integer(row.rev), .integer(heir.n)])
      }
      try connection.run("DELETE FROM holdfast_edits WHERE n = ?", [.integer(row.n)])
    }
    return true
  }

  /// Returns a record that was deleted and created anew to what it was, but for the columns that were edited since.
  private func revert(
    to deletion: Edit, _ bases: [Edit], under later: ArraySlice<Edit>, _ table: Int, _ id: String
  ) throws {
    let name = schema.tables[table].name
    try connection.run(
      "UPDATE \"\(name)\" SET \"zone\" = ?, \"rev\" = ? WHERE \"id\" = ?",
      [deletion.base, .integer(deletion.rev), .text(id)])
    for column in schema.tables[table].columns {
      let base = bases.first { $0.column == column.name }?.base ?? SQLiteValue(column.defaultValue ?? .null)
      if let heir = later.first(where: { $0.column == column.name && $0.n > (bases.last?.n ?? deletion.n) }) {
        try connection.run("UPDATE holdfast_edits SET base = ? WHERE n = ?", [base, .integer(heir.n)])
      } else {
        try connection.run(
          "UPDATE \"\(name)\" SET \"\(column.name)\" = ? WHERE \"id\" = ?", [base, .text(id)])
      }
    }
  }

  /// Puts a record back that was deleted here, with the server's values as far as they are known.
  private func putBack(_ deletion: Edit, _ bases: [Edit], _ table: Int, _ id: String) throws {
    let values = schema.tables[table].columns.map { column in
      bases.first { $0.column == column.name }?.base ?? SQLiteValue(column.defaultValue ?? .null)
    }
    try connection.run(sql[table].upsert, [deletion.base, .text(id), .integer(deletion.rev)] + values)
  }

  /// Records edited here whose parent has gone: one that was created here goes too, a reference that was changed here returns
  /// to its base. Their change sets stay, and the server decides them. Records under one that is deleted here are hidden.
  func settleOrphans() throws {
    var again = true
    while again {
      again = try hideBelowDeletions()
      for row in try connection.rows("SELECT DISTINCT record_table, id FROM holdfast_edits") {
        guard let table = schema.index(of: row[0].text ?? ""), let id = row[1].text else { continue }
        for link in schema.links(of: table) where link.isInZone {
          again = try settleOrphan(link, id) || again
        }
      }
    }
  }

  /// Removes copies of the server's records whose parent is not here and waits for nobody: the server has removed them too, or moved
  /// them, and says so in a part that is still to come. Looks at whole tables.
  func removeOrphans() throws {
    var again = true
    while again {
      again = false
      for link in schema.links where link.isInZone {
        let (child, parent) = (schema.tables[link.table], schema.tables[link.target].name)
        let column = child.columns[link.column]
        try connection.run(
          """
          \(column.required ? "DELETE FROM \"\(child.name)\"" : "UPDATE \"\(child.name)\" SET \"\(column.name)\" = NULL")
          WHERE "\(column.name)" IS NOT NULL AND "\(column.name)" NOT IN (SELECT "id" FROM "\(parent)")
          """)
        if connection.changes > 0 { again = true }
      }
    }
  }

  private func settleOrphan(_ link: Schema.Link, _ id: String) throws -> Bool {
    let (child, parent) = (schema.tables[link.table], schema.tables[link.target])
    let column = child.columns[link.column].name
    let isOrphan = try connection.value(
      """
      SELECT 1 FROM "\(child.name)" AS child WHERE child."id" = ? AND child."\(column)" IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM "\(parent.name)" AS parent WHERE parent."id" = child."\(column)")
      """, [.text(id)])
    guard isOrphan != nil else { return false }
    Trace.took(.orphanSettled)
    let edits = try edits(link.table, id)
    if edits.contains(where: { $0.kind == "create" }) {
      try connection.run(sql[link.table].delete, [.text(id)])
      return true
    }
    guard let edit = edits.first(where: { $0.column == column }) else { return false }
    let now = try connection.value(
      "SELECT \"\(column)\" FROM \"\(child.name)\" WHERE \"id\" = ?", [.text(id)])
    if now == edit.base { return false }
    try connection.run(
      "UPDATE \"\(child.name)\" SET \"\(column)\" = ? WHERE \"id\" = ?", [edit.base, .text(id)])
    return true
  }
}
