/// The effects of replacing one schema by another, for people: `holdfast schema diff`.
package struct SchemaReport: Sendable {
  /// Whether, and with which option, the change is possible.
  package enum Verdict: Int32, Sendable {
    /// There is no change.
    case none
    /// The change is possible without removals. Old and new apps keep working.
    case safe
    /// Tables or columns are removed: the server requires `--allow-removals`.
    case removes
    /// The change is refused.
    case impossible
  }

  /// A change.
  package struct Change: Hashable, Sendable {
    /// The place, as in `holdfast.json`.
    package let place: String
    /// A short description.
    package let what: String
    /// The effects, one sentence each.
    package let effects: [String]
  }

  /// Whether, and with which option, the change is possible.
  package private(set) var verdict: Verdict
  /// All changes; for an impossible change, all reasons.
  package private(set) var changes: [Change] = []

  /// Compares two schemas.
  ///
  /// - Parameters:
  ///   - adopted: the tables of the old schema that are a team's own: the server never alters them.
  ///   - misfits: what tables of the database lack for the new schema.
  package init(
    from old: SyncSchema, to new: SyncSchema, adopted: TextSet = [], misfits: [SchemaError.Fault] = []
  ) {
    do throws(SchemaError) {
      if !misfits.isEmpty { throw SchemaError(faults: misfits) }
      let difference = try SchemaDifference(from: old, to: new)
      verdict = difference.removals.isEmpty ? .safe : .removes
      for name in difference.removedTables {
        changes.append(.removedTable(name, isAdopted: adopted.contains(name)))
      }
      for renaming in difference.renamedTables {
        changes.append(.renamedTable(renaming, isAdopted: adopted.contains(renaming.old)))
      }
      for table in difference.tables { changes.append(.newTable(new.tables[table])) }
      for kept in difference.kept {
        let before = old.tables[kept.before]
        changes += Change.columns(
          of: kept, before, new.tables[kept.index], isAdopted: adopted.contains(before.name))
      }
      for (table, columns) in difference.indexes {
        changes.append(.index(columns, of: new.tables[table], isNew: true))
      }
      for (table, columns) in difference.droppedIndexes {
        changes.append(.index(columns, of: new.tables[table], isNew: false))
      }
      if new.oldestVersion > old.oldestVersion {
        changes.append(
          Change(
            place: "oldest_version", what: "\(old.oldestVersion) → \(new.oldestVersion)",
            effects: [
              "Apps whose file has an earlier version are answered app-too-old (426). They go on offline; what they write waits, and is sent after the update."
            ]))
      }
      if changes.isEmpty { verdict = .none }
    } catch {
      verdict = .impossible
      changes = error.faults.map { Change(place: $0.place, what: "impossible", effects: [$0.text]) }
    }
  }

  /// A paragraph for each change, followed by the verdict.
  package var text: String {
    let paragraphs = changes.map { change in
      "\(change.place): \(change.what)\n" + change.effects.map { "  \($0)\n" }.joined()
    }
    let end =
      switch verdict {
      case .none: "Nothing changes."
      case .safe: "It can be done: start the server with the new file. Old and new apps go on."
      case .removes: "Something goes: start the server with the new file and --allow-removals."
      case .impossible: "It can't be done. Nothing would be changed."
      }
    return (paragraphs + [end]).joined(separator: "\n")
  }
}

extension SchemaReport.Change {
  fileprivate static func removedTable(_ name: String, isAdopted: Bool) -> Self {
    let fate =
      isAdopted ? "The team's table stays as it is" : "It keeps the records until `holdfast schema prune`"
    return Self(
      place: "tables.\(name)", what: "removal",
      effects: [
        "Server: serves it no more. \(fate). For the devices they become tombstones, one statement, while writers of the table wait.",
        "Old apps: find it empty; their edits of it are refused (unknown-table) and wait in quarantine, each change set whole.",
        "New apps: drop the table when they open their database. Edits that wait are still sent.",
      ])
  }

  fileprivate static func renamedTable(_ renaming: SchemaDifference.Renaming, isAdopted: Bool) -> Self {
    let fate = isAdopted ? "the team's table keeps its name" : "ALTER TABLE RENAME"
    return Self(
      place: "tables.\(renaming.new)", what: "new name; it was \(renaming.old)",
      effects: [
        "Server: \(fate); tombstones (PostgreSQL: all ledger rows of the table) get the name, one statement as long as that takes, while writers of the table wait. Indexes of SQLite are made again.",
        "Old apps: go on with the old name, in both directions.",
        "New apps: rename their table when they open their database, with all unsent edits.",
      ])
  }

  fileprivate static func newTable(_ table: TableSchema) -> Self {
    Self(
      place: "tables.\(table.name)", what: "new table",
      effects: [
        "Server: makes it; nobody waits.", "Old apps: pass over its records.",
        "New apps: resync their zones once, to have its records.",
      ])
  }

  fileprivate static func index(_ columns: [String], of table: TableSchema, isNew: Bool) -> Self {
    Self(
      place: "tables.\(table.name).indexes",
      what: "\(isNew ? "new" : "removed") index: \(columns.joined(separator: ", "))",
      effects: [
        isNew
          ? "Server: made at the start; with CREATE INDEX CONCURRENTLY on PostgreSQL, where nobody waits."
          : "Server: dropped; programs that filter by it get index-missing. Apps do not notice."
      ])
  }

  /// All changes of a table in both schemas.
  fileprivate static func columns(
    of kept: SchemaDifference.Kept, _ before: TableSchema, _ table: TableSchema, isAdopted: Bool
  ) -> [Self] {
    let place = "tables.\(table.name)"
    var changes: [Self] = []
    for name in kept.removed { changes.append(removed("\(place).columns.\(name)", isAdopted)) }
    for renaming in kept.renamed {
      changes.append(renamed("\(place).columns.\(renaming.new)", renaming, isAdopted))
    }
    for index in kept.added {
      changes.append(
        added("\(place).columns.\(table.columns[index].name)", table.columns[index], isAdopted))
    }
    if before.unique.count > table.unique.count {
      changes.append(
        Self(
          place: "\(place).unique", what: "a group less, with its columns",
          effects: [
            isAdopted
              ? "Server: the constraint of the team's table stays." : "Server: drops the index.",
            "Old apps: go on to refuse values that are taken.",
          ]))
    }
    if before.roles != table.roles {
      changes.append(
        Self(
          place: "\(place).roles", what: "other roles",
          effects: [
            "Server: from now on. Edits that wait and lack the role are refused (role-insufficient) and go to quarantine."
          ]))
    }
    for column in table.columns {
      let known = kept.names.first { $0.value == column.name }?.key
      guard let earlier = known.flatMap({ name in before.columns.first { $0.name == name } }) else {
        continue
      }
      changes += rules(earlier, column, at: "\(place).columns.\(column.name)")
    }
    return changes
  }

  private static func removed(_ place: String, _ isAdopted: Bool) -> Self {
    Self(
      place: place, what: "removal",
      effects: [
        isAdopted
          ? "Server: serves it no more. The column of the team's table stays as it is."
          : "Server: serves it no more and keeps the values until `holdfast schema prune`. Its indexes and constraints go; short lock on PostgreSQL, on SQLite the table is written again at the start.",
        "Old apps: their change sets that edit it, or create a record with a value of it, are refused (unknown-column) and wait in quarantine, each whole, with its other columns.",
        "New apps: drop the column when they open their database. Edits that wait are still sent.",
      ])
  }

  private static func renamed(
    _ place: String, _ renaming: SchemaDifference.Renaming, _ isAdopted: Bool
  ) -> Self {
    let fate = isAdopted ? "the team has renamed the column of its table" : "ALTER TABLE RENAME COLUMN"
    return Self(
      place: place, what: "new name; it was \(renaming.old)",
      effects: [
        "Server: \(fate); who changed the column when is rewritten in one statement over the records that have it, while writers of the table wait.",
        "Old apps: go on with the old name, in both directions. Programs of REST may send the old name, and read the new one.",
        "New apps: rename their column when they open their database, with all unsent edits.",
      ])
  }

  private static func added(_ place: String, _ column: ColumnSchema, _ isAdopted: Bool) -> Self {
    Self(
      place: place, what: "new column",
      effects: [
        isAdopted
          ? "Server: serves the column that the team has added to its table."
          : "Server: adds it, without writing the records that are there\(column.defaultValue == nil ? "" : "; they have the default").",
        "Old apps: pass over it, and never write it. Programs of REST that PUT whole records set it to its default.",
        "New apps: resync their zones once, to have it in old records.",
      ])
  }

  /// The changed rules for the values of a column.
  private static func rules(_ before: ColumnSchema, _ column: ColumnSchema, at place: String) -> [Self] {
    var changes: [Self] = []
    func add(_ what: String, isNarrower: Bool) {
      let effect =
        isNarrower
        ? "Values that are there and do not fit stay as they are, and are served; the next edit of the column must fit. Edits that wait and do not fit are refused, and go to quarantine."
        : "From now on. What new apps write is refused by a server that still has the file of before, and waits in quarantine."
      changes.append(Self(place: place, what: what, effects: [effect]))
    }
    if before.lengthLimit != column.lengthLimit {
      add(
        "max_length \(before.lengthLimit) → \(column.lengthLimit)",
        isNarrower: column.lengthLimit < before.lengthLimit)
    }
    if before.minimum != column.minimum {
      add(
        "min \(text(before.minimum)) → \(text(column.minimum))",
        isNarrower: column.minimum ?? .min > before.minimum ?? .min)
    }
    if before.maximum != column.maximum {
      add(
        "max \(text(before.maximum)) → \(text(column.maximum))",
        isNarrower: column.maximum ?? .max < before.maximum ?? .max)
    }
    if TextSet(before.oneOf) != TextSet(column.oneOf) {
      let isWider =
        column.oneOf.isEmpty || (!before.oneOf.isEmpty && TextSet(column.oneOf).isSuperset(of: before.oneOf))
      add("one_of \(list(before.oneOf)) → \(list(column.oneOf))", isNarrower: !isWider)
    }
    if before.policy != column.policy {
      changes.append(
        Self(
          place: place, what: "merge \(before.policy.rawValue) → \(column.policy.rawValue)",
          effects: [
            "Server: decides by it from now on, also about edits that were made before. Old apps show what the policy of before makes until they are answered."
          ]))
    }
    if before.defaultValue != column.defaultValue {
      changes.append(
        Self(
          place: place, what: "another default",
          effects: [
            "For creates that do not name the column, from now on. Each app fills in its own; records that are there stay."
          ]))
    }
    if before.within != column.within {
      changes.append(
        Self(
          place: place, what: "another list",
          effects: ["Positions stay; the index of the list is made again."]
        ))
    }
    return changes
  }

  private static func text(_ number: Int64?) -> String { number.map { String($0) } ?? "none" }
  private static func list(_ values: [String]) -> String {
    values.isEmpty ? "any" : "[" + values.joined(separator: ", ") + "]"
  }
}
