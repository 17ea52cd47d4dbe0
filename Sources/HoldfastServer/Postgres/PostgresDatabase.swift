import HoldfastCore
import HoldfastPostgres

/// The server's database in PostgreSQL: opened and checked here; connections to it.
struct PostgresDatabase: ServerDatabase {
  let location: PostgresLocation
  let schema: Schema
  let epoch: String
  let layout: PostgresLayout
  let readingWaits = true

  /// Opens the database, and makes or extends it for `schema`.
  ///
  /// - Parameters:
  ///   - schema: what to serve; nil takes the one in the database.
  ///   - random: gives the epoch of a new database.
  /// - Throws: `ServerError`.
  init(_ location: PostgresLocation, schema: Schema?, random: (Int) -> [UInt8]) throws {
    self.location = location
    let opened = try PostgresOpening.open(location, schema: schema, random: random)
    (self.schema, epoch, layout) = (opened.schema, opened.epoch, opened.layout)
  }

  func store() throws -> any Store { store(.fast) }

  func patientStore() throws -> (any Store)? { store(.patient) }

  func reader() throws -> any StoreReader {
    PostgresReader(schema, layout: layout) { [location] () throws(PostgresError) in try location.connect() }
  }

  func administration() throws -> any StoreAdministration {
    PostgresAdministration(store(.patient), schema, layout)
  }

  private func store(_ lane: PostgresStore.Lane) -> PostgresStore {
    PostgresStore(schema, layout: layout, lane: lane) { [location] () throws(PostgresError) in
      try location.connect()
    }
  }
}

/// Where a PostgreSQL database is reached.
public struct PostgresLocation: Sendable {
  /// The database, or a pooler before it, as libpq takes it: `postgres://…` or `host=… dbname=…`.
  public var url: String
  /// The database itself, when `url` names a pooler that lends connections for a transaction; nil when `url` is the database.
  public var direct: String?

  /// A location of its parts.
  public init(_ url: String, direct: String? = nil) {
    self.url = url
    self.direct = direct
  }

  /// A connection for the work of requests.
  func connect() throws(PostgresError) -> PostgresConnection {
    var options = PostgresOptions()
    options.preparesStatements = direct == nil
    return try PostgresConnection(url, options: options)
  }

  /// A connection to the database itself, for what lasts longer than a transaction.
  func connectDirectly() throws(PostgresError) -> PostgresConnection { try PostgresConnection(direct ?? url) }
}
