import Foundation
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

  /// The port of a socket that takes connections and never answers, as a machine that hangs; it stays open.
  private func silentPort() throws -> Int {
    let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(socket, $0, size) == 0 && listen(socket, 16) == 0 && getsockname(socket, $0, &size) == 0
      }
    }
    try #require(isListening)
    return Int(UInt16(bigEndian: address.sin_port))
  }

  @Test(
    "a server that is silent, as a machine that died, keeps nobody from the others of the connection string")
  func silent() throws {
    var parts = try #require(URLComponents(string: url))
    let port = try #require(parts.port)
    (parts.port, parts.query) = (nil, "connect_timeout=1&target_session_attrs=read-write")
    let text = try #require(parts.string)
    func open(_ hosts: String) throws -> PostgresConnection {
      try PostgresConnection(text.replacing("127.0.0.1", with: hosts))
    }
    let silent = try silentPort()
    for hosts in [
      "127.0.0.1:\(silent),127.0.0.1:\(port)",
      "127.0.0.1:1,localhost:\(silent),127.0.0.1:1,localhost:\(port)",
    ] {
      #expect(try open(hosts).isUsable)
    }
    #expect(error(text.replacing("127.0.0.1", with: "127.0.0.1:\(silent)"))?.code == .cannotConnect)
    #expect(
      error(text.replacing("127.0.0.1", with: "127.0.0.1:\(silent),127.0.0.1:1"))?.code == .cannotConnect)
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
