import Foundation
import HoldfastHTTP
import ServerScenes
import Testing

@testable import HoldfastServer

/// What keeps a server from starting and needs no database: OPERATIONS.md, section 1.
@Suite("A start that is refused", .enabled(if: Engine.used == .sqlite))
struct SQLiteRefusedStartTests {
  /// A data directory that is not there.
  private let path = NSTemporaryDirectory() + "/holdfast-refused-\(UUID().uuidString)"

  @Test("a server that can't listen has not touched its database")
  func unheard() throws {
    let other = try HTTPListener()
    let taken = try HTTPServer(on: other) { _, responder in responder.respond(.plain(status: 204)) }
    defer { taken.stop(grace: .zero) }
    // Of an address that is none, one of another machine (RFC 5737), and a port that is taken.
    for (address, port) in [("localhost", 0), ("192.0.2.1", 0), ("127.0.0.1", taken.port)] {
      let configuration = Configuration(
        schema: try TestServer.schema(), database: .directory(path), address: address, port: port)
      #expect(throws: HTTPServerError.self) { try Server(configuration) }
      #expect(!FileManager.default.fileExists(atPath: path))
      if port == 0 { #expect(throws: HTTPServerError.self) { try Server.check(configuration) } }
    }
  }

  @Test(
    "metrics in the server's own place, and a folder that can't be made, are refused before the database is touched"
  )
  func surroundings() throws {
    for (address, host) in [
      ("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("127.0.0.1", "0.0.0.0"), ("::", "127.0.0.1"),
      ("::1", "::"), ("0.0.0.0", "::"),
    ] {
      var configuration = Configuration(
        schema: try TestServer.schema(), database: .directory(path), address: address, port: 18_080)
      configuration.metrics = MetricsAddress(host: host, port: 18_080)
      for start in [{ _ = try Server(configuration) }, { _ = try Server.check(configuration) }] {
        let error = #expect(throws: ServerError.self) { try start() }
        #expect(error?.code == .refused)
      }
      configuration.metrics = MetricsAddress(host: host, port: 18_081)
      _ = try configuration.checkSurroundings()
    }
    var configuration = Configuration(schema: try TestServer.schema(), database: .directory(path))
    // No folder can be made there, by whomever.
    configuration.snapshotFolder = "/proc/holdfast"
    let error = #expect(throws: ServerError.self) { try Server(configuration) }
    #expect(error?.code == .unreachable)
    #expect(!FileManager.default.fileExists(atPath: path))
  }
}
