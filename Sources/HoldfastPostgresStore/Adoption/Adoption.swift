public import HoldfastCore
import HoldfastPostgres
public import HoldfastService

/// Adopts the tables of a team's PostgreSQL database, and removes Holdfast again. It alters no column of them.
public struct Adoption {
  /// A proposed `holdfast.json`.
  public struct Proposal: Sendable {
    /// The text of the file.
    public let text: String
    /// The omissions and decisions, one line each, with what to do about them.
    public let notes: [String]
  }

  private let location: PostgresLocation
  private let random: @Sendable (Int) -> [UInt8]

  /// Creates an adoption for the database at `location`.
  public init(_ location: PostgresLocation, environment: ServerEnvironment) {
    self.location = location
    random = environment.random
  }

  /// Reads the tables and proposes a schema for them. Writes nothing.
  ///
  /// - Parameter tables: the names of the tables; nil for all tables of the first schema in `search_path` that is not `holdfast`.
  /// - Throws: `ServerError.notFound` if a table does not exist, or no table can be adopted; `refused` if the database is not in UTF-8.
  public func propose(tables: [String]? = nil) throws -> Proposal {
    let connection = try location.connectDirectly(.opens)
    defer { connection.close() }
    try PostgresOpening.requireUTF8(of: connection)
    return try AdoptionProposal(connection).propose(tables)
  }

  /// Installs the schema `holdfast`, its triggers, and the ledger of the existing records. In a database that has them, adds new parts and
  /// repairs missing ones. All of it is one transaction that locks the tables against writes.
  ///
  /// - Returns: what keeps devices from making records, one line each, with what to do about it.
  /// - Throws: `ServerError`. The database is then unchanged.
  @discardableResult
  public func apply(_ schema: SyncSchema) throws -> [String] {
    _ = try PostgresOpening.open(location, schema: schema, standing: .adopt, heals: true, random: random)
    return try notes(on: schema)
  }

  /// What keeps devices from making records of the adopted tables of a schema, one line each, with what to do about it.
  package func notes(on schema: SyncSchema) throws -> [String] {
    let connection = try location.connectDirectly(.opens)
    defer { connection.close() }
    return try UnfilledColumns.notes(schema, on: connection)
  }

  /// Removes the schema `holdfast` with all data of Holdfast (accounts, devices, access) and the triggers. Adopted tables are then as they
  /// were. Tables that Holdfast made stay with all records, without the default of their ids.
  ///
  /// - Returns: the tables that Holdfast made, qualified and quoted.
  /// - Throws: `ServerError.notFound` if the database has no schema `holdfast`; `refused` if that would drop a table, view or column that is
  ///   not Holdfast's. The database is then unchanged.
  @discardableResult
  public func remove() throws -> [String] {
    let connection = try location.connectDirectly(.opens)
    defer { connection.close() }
    let rows = try connection.query("SELECT to_regclass('holdfast.meta') IS NOT NULL")
    if !rows.bool(0, 0) { throw ServerError(.notFound, "The database has no Holdfast in it.") }
    return try AdoptionRemoval(connection).run()
  }
}
