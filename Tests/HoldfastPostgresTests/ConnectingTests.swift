import HoldfastPostgres
import TemporaryPostgres
import Testing

@Suite("Connecting")
struct ConnectingTests {
  let url: String

  init() throws { url = try TemporaryPostgres.shared.makeDatabase() }

  private func error(_ conninfo: String) -> PostgresError? {
    #expect(throws: PostgresError.self) { try PostgresConnection(conninfo) }
  }

  @Test("a connection says whom it serves, and closes once")
  func open() throws {
    let connection = try PostgresConnection(url)
    #expect(connection.isUsable)
    #expect(connection.serverVersion >= 130_000)
    let rows = try connection.query(
      "SELECT pg_backend_pid(), current_setting('application_name'), current_setting('client_encoding')")
    #expect(rows.int64(0, 0) == Int64(connection.serverProcess))
    #expect(rows.text(0, 1) == "holdfast")
    #expect(rows.text(0, 2) == "UTF8")
    connection.close()
    connection.close()
    #expect(!connection.isUsable)
    #expect(connection.transactionStatus == .unknown)
    // What was read stays readable.
    #expect(rows.text(0, 1) == "holdfast")
  }

  @Test("the connection string goes before the options")
  func names() throws {
    let connection = try PostgresConnection(url + "?application_name=bench&client_encoding=LATIN1")
    let rows = try connection.query(
      "SELECT current_setting('application_name'), current_setting('client_encoding')")
    #expect(rows.text(0, 0) == "bench")
    #expect(rows.text(0, 1) == "UTF8")
  }

  @Test("the server's refusals have their codes")
  func refused() throws {
    #expect(error(url + "_missing")?.code == .undefinedDatabase)
    let server = TemporaryPostgres.shared
    let role = try PostgresConnection(url).query("SELECT current_user").text(0, 0)
    try server.psql(server.url, "ALTER ROLE \(role) CONNECTION LIMIT 0")
    #expect(error(url)?.code == .tooManyConnections)
    #expect(error(url)?.description.contains("53300") == true)
  }

  @Test("where no server listens, the error says so and holds no password")
  func nobody() throws {
    let error = error("postgres://me:secret@127.0.0.1:1/none")
    #expect(error?.code == .cannotConnect)
    #expect(error?.isConnectionLost == false)
    #expect(error?.code.isConnection == true)
    #expect(error?.debugDescription.contains("secret") == false)
  }

  @Test(
    "a connection string that can't be read is refused and not quoted",
    arguments: [
      "secret", "postgres://me:secret@host:port@", "postgres://me:sec@secret@host/none", "host=a secret",
      "postgres://host/none?secret=1", "host=\0secret",
    ])
  func unreadable(conninfo: String) throws {
    let error = error(conninfo)
    #expect(error?.code == .invalidConnectionString)
    #expect(error?.debugDescription.contains("secret") == false)
  }
}
