import HoldfastCore
import HoldfastService

/// Checks whether a table of the database matches the schema.
struct AdoptionCheck {
  private let schema: SyncSchema
  private let index: Int
  private let catalog: PostgresCatalog
  private let isAdopted: Bool
  private var table: TableSchema { schema.tables[index] }
  private var place: String { "tables.\(table.name)" }

  init(_ schema: SyncSchema, _ index: Int, _ catalog: PostgresCatalog, isAdopted: Bool) {
    self.schema = schema
    self.index = index
    self.catalog = catalog
    self.isAdopted = isAdopted
  }

  /// All mismatches.
  ///
  /// - Parameter relation: returns the relation of a table of the schema.
  func faults(_ relation: (String) -> String?) -> [SchemaError.Fault] {
    var faults: [SchemaError.Fault] = []
    if isAdopted {
      faults += AdoptionFitness(catalog).obstacles.map { .init(place, $0) }
    }
    if catalog.hidesRows {
      faults.append(
        .init(
          place,
          "Row-level security hides rows of the table from this role. Take its owner without FORCE, or a role with BYPASSRLS."
        ))
    }
    if catalog.hasRules {
      faults.append(
        .init(
          place, "A rule rewrites statements on the table, which the ledger can't follow. Make it a trigger.")
      )
    }
    for column in table.columns {
      let place = "\(place).columns.\(column.name)"
      guard let found = catalog.column(column.name) else {
        faults.append(.init(place, "\(catalog.relation) has no such column; add it, or leave it out here."))
        continue
      }
      guard let kind = found.column?.kind, kind.holds(column.type) else {
        faults.append(.init(place, "A column of type \(found.type) holds no \(column.type.rawValue)."))
        continue
      }
      if !isAdopted { continue }
      if found.isGenerated {
        faults.append(.init(place, "The database computes this column; leave it out here."))
      }
      if column.required, !found.isRequired {
        faults.append(.init(place, "The column may be null; leave out \"required\", or SET NOT NULL."))
      }
      if !column.required, found.isRequired, found.defaultExpression == nil {
        faults.append(.init(place, "The column is NOT NULL and has no default; say \"required\": true."))
      }
      if let reference = column.reference {
        if let reason = AdoptionFitness.reason(againstReference: found) {
          faults.append(.init(place, reason))
        }
        faults += referenceFaults(column, reference, at: place, relation(reference.table))
      }
    }
    return faults
  }

  private func referenceFaults(
    _ column: ColumnSchema, _ reference: Reference, at place: String, _ target: String?
  ) -> [SchemaError.Fault] {
    let keys = catalog.references.filter { $0.column == column.name }
    guard let key = keys.first(where: { $0.target == target && $0.targetColumn == "id" }) else {
      return [
        .init(
          "\(place).to",
          "\(catalog.relation) has no foreign key from the column to \(reference.table) (id); add it.")
      ]
    }
    guard let action = key.action else {
      return [.init("\(place).on_delete", "ON DELETE SET DEFAULT can't be kept; choose another action.")]
    }
    // Across zones, the service applies the schema's rule before the foreign key is checked. The key then affects only other SQL writers.
    let isAcross = SyncSchema.isAcross(reference, of: table, in: schema.tables)
    return action == reference.onDelete || isAcross && action == .restrict
      ? [] : [.init("\(place).on_delete", "The foreign key says \(action.rawValue); say the same here.")]
  }
}

extension PostgresCatalog.Reference {
  /// The delete rule of the foreign key; nil if the schema has no such rule.
  package var action: HoldfastCore.Reference.OnDelete? {
    switch onDelete {
    case "c": .cascade
    case "n": .setNull
    case "a", "r": .restrict
    default: nil
    }
  }
}
