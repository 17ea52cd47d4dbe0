package import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// Compares a schema with the tables of a database as a start does, and writes nothing.
package struct SchemaFit {
  private let connection: PostgresConnection

  private init(_ connection: PostgresConnection) { self.connection = connection }

  /// The effects of a start with another schema, on a database with Holdfast in it.
  package static func report(of schema: SyncSchema, in location: PostgresLocation) throws -> SchemaReport {
    let connection = try location.connectDirectly(.opens)
    defer { connection.close() }
    return try SchemaFit(connection).report(of: schema)
  }

  /// The tables of a schema that are in a database without Holdfast already.
  package static func standing(_ schema: SyncSchema, in location: PostgresLocation) throws
    -> [SchemaError.Fault]
  {
    let connection = try location.connectDirectly(.opens)
    defer { connection.close() }
    return try SchemaFit(connection).standing(schema.tables)
  }

  private func report(of new: SyncSchema) throws -> SchemaReport {
    let old = try PostgresOpening.storedSchema(on: connection)
    let rows = try connection.query("SELECT name, relation, adopted FROM holdfast.tables")
    var known: TextMap<(relation: String, isAdopted: Bool)> = [:]
    for row in rows.indices { known[rows.text(row, 0)] = (rows.text(row, 1), rows.bool(row, 2)) }
    let adopted = TextSet(known.filter(\.value.isAdopted).map(\.key))
    var faults: [SchemaError.Fault] = []
    // A change that is impossible by the schemas alone has no tables to look at.
    if let difference = try? SchemaDifference(from: old, to: new) {
      for renaming in difference.renamedTables { known[renaming.new] = known[renaming.old] }
      let catalogs = try PostgresCatalog.read(rows.indices.map { rows.text($0, 1) }, on: connection)
      faults = try standing(difference.tables.map { new.tables[$0] })
      for kept in difference.kept {
        let table = new.tables[kept.index]
        guard let (relation, isAdopted) = known[table.name], let catalog = catalogs[relation] else {
          faults.append(Self.missing(table))
          continue
        }
        // The start alters tables that Holdfast made, and never those of a team.
        let check =
          isAdopted
          ? AdoptionCheck(new, kept.index, catalog, isAdopted: true)
          : AdoptionCheck(old, kept.before, catalog, isAdopted: false)
        faults += check.faults { target in known[target].flatMap { catalogs[$0.relation]?.relation } }
      }
      let actions = try ReferentialActions(new, on: connection) {
        known[$0].flatMap { catalogs[$0.relation]?.relation }
      }
      faults += try StoredColumns(old).replaced(on: connection).map(\.fault)
      faults += actions.faults { known[$0.name]?.isAdopted == true }
    }
    return SchemaReport(from: old, to: new, adopted: adopted, misfits: faults)
  }

  /// Those of tables that a start is to make which are in the database already.
  private func standing(_ tables: [TableSchema]) throws -> [SchemaError.Fault] {
    let names = tables.filter { !$0.isBuiltIn }.map(\.name)
    let rows = try connection.query(
      "SELECT w.name FROM unnest($1::text[]) w (name) WHERE to_regclass(quote_ident(w.name)) IS NOT NULL",
      PostgresParameters(array: names))
    return rows.texts.map { .init("tables.\($0)", Self.taken($0)) }
  }

  static func taken(_ name: String) -> String {
    """
    The database has a table \(name) already. `holdfast schema adopt` takes it over; or rename the table, or name another database.
    """
  }

  static func missing(_ table: TableSchema) -> SchemaError.Fault {
    .init("tables.\(table.name)", "The table is not in the database any more; restore it.")
  }
}
