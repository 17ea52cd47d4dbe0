public import HoldfastCore
import HoldfastPostgres
public import HoldfastService

/// Takes the tables of a team's PostgreSQL database into Holdfast, and gives them back. Not a column of them is altered.
public struct Adoption {
  /// What is proposed for `holdfast.json`.
  public struct Proposal: Sendable {
    /// The text of the file.
    public let text: String
    /// What was left out or decided, a line each, with what to do about it.
    public let notes: [String]
  }

  private let location: PostgresLocation
  private let random: @Sendable (Int) -> [UInt8]

  /// Adoption in the database at `location`.
  public init(_ location: PostgresLocation, environment: ServerEnvironment) {
    self.location = location
    random = environment.random
  }

  /// Reads the tables and proposes a schema for them. Nothing is written.
  ///
  /// - Parameter tables: their names; nil takes all of the schema that `search_path` names first.
  /// - Throws: `ServerError.notFound` when a table is not there, or none can be taken.
  public func propose(tables: [String]? = nil) throws -> Proposal {
    let connection = try location.connectDirectly(.opens)
    defer { connection.close() }
    return try AdoptionProposal(connection).propose(tables)
  }

  /// Installs the schema `holdfast`, its triggers, and the ledger of the records that stand; in a database that has them, adds what is new
  /// and puts back what is missing. One transaction, in which nobody else writes the tables.
  ///
  /// - Throws: `ServerError`; nothing has changed then.
  public func apply(_ schema: SyncSchema) throws {
    _ = try PostgresOpening.open(location, schema: schema, standing: .adopt, heals: true, random: random)
  }

  /// Removes the schema `holdfast` with all that Holdfast knows (accounts, devices, who may do what) and the triggers. The tables stay as they
  /// are, those too that Holdfast made.
  ///
  /// - Throws: `ServerError.notFound` when the database has no Holdfast in it.
  public func remove() throws {
    let connection = try location.connectDirectly(.opens)
    defer { connection.close() }
    let rows = try connection.query("SELECT to_regclass('holdfast.meta') IS NOT NULL")
    if !rows.bool(0, 0) { throw ServerError(.notFound, "The database has no Holdfast in it.") }
    // The triggers go with the functions that they call.
    try connection.execute("SET client_min_messages = warning; DROP SCHEMA holdfast CASCADE")
  }
}
