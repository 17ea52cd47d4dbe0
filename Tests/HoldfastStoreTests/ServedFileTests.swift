import Foundation
import HoldfastCore
import ServerScenes
import Testing

@testable import HoldfastSQLiteStore
@testable import HoldfastServer

@Suite("One server for a database file", .enabled(if: Engine.used == .sqlite))
struct ServedFileTests {
  private let files = FileManager.default

  /// A further data directory.
  private func makeFolder(beside server: TestServer) throws -> String {
    let path = server.folder.appendingPathComponent(UUID().uuidString).path
    try files.createDirectory(atPath: path, withIntermediateDirectories: true)
    return path
  }

  /// The error of a start on a directory; nil if it starts.
  private func refusal(of path: String, _ server: TestServer) -> ServerError? {
    do {
      _ = try InlineServer(.directory(path), schema: nil, environment: server.world.environment)
      return nil
    } catch { return error as? ServerError }
  }

  /// The locks of SQLite on a file, of all processes. The system shows the list of locks in parts, and passes over some while other processes take
  /// and release theirs: so it is read several times.
  private func locks(on path: String) throws -> TextSet {
    let number = try #require(files.attributesOfItem(atPath: path)[.systemFileNumber] as? Int)
    var found: TextSet = []
    for _ in 0..<20 {
      let lines = try String(contentsOfFile: "/proc/locks", encoding: .utf8).split(separator: "\n")
        .filter { $0.contains("POSIX") && $0.contains(":\(number) ") }
      found.formUnion(lines.map { String($0.drop { $0 != "P" }) })
    }
    return found
  }

  @Test("a symbolic link to a database is not served, and says why")
  func symbolicLink() throws {
    let server = try TestServer()
    server.inline = nil
    let other = try makeFolder(beside: server)
    try files.createSymbolicLink(atPath: other + "/holdfast.db", withDestinationPath: server.database)
    let error = try #require(refusal(of: other, server))
    #expect(error.code == .unreachable)
    #expect(error.description.contains("not a regular file"))
    #expect(throws: ServerError.self) { try Server.check(Configuration(database: .directory(other))) }
    #expect(refusal(of: server.path, server) == nil)
  }

  @Test("a database with two names is not served by either, until one is removed")
  func hardLink() throws {
    let server = try TestServer()
    server.inline = nil
    let other = try makeFolder(beside: server)
    try files.linkItem(atPath: server.database, toPath: other + "/holdfast.db")
    for path in [other, server.path] {
      let error = try #require(refusal(of: path, server))
      #expect(error.code == .refused)
      #expect(error.description.contains("has 2 names"))
      #expect(throws: ServerError.self) { try Server.check(Configuration(database: .directory(path))) }
    }
    try files.removeItem(atPath: other + "/holdfast.db")
    #expect(refusal(of: server.path, server) == nil)
  }

  @Test("a file that is served is refused by another path, and the first server keeps its locks (I2)")
  func otherPath() throws {
    let server = try TestServer()
    let anna = try server.signUp("anna")
    let before = try locks(on: server.database)
    #expect(!before.isEmpty)
    let other = try makeFolder(beside: server)
    try files.linkItem(atPath: server.database, toPath: other + "/holdfast.db")
    #expect(refusal(of: other, server)?.code == .inUse)
    #expect(try locks(on: server.database) == before)
    #expect(try anna.sync().confirmed == 0)
    try files.removeItem(atPath: other + "/holdfast.db")
    try server.reopen()
    #expect(try anna.sync().confirmed == 0)
  }

  @Test("a new database is held from its first start on")
  func new() throws {
    let server = try TestServer()
    let (first, other) = try (makeFolder(beside: server), makeFolder(beside: server))
    let running = try InlineServer(
      .directory(first), schema: TestServer.schema(), environment: server.world.environment)
    try files.linkItem(atPath: first + "/holdfast.db", toPath: other + "/holdfast.db")
    #expect(refusal(of: other, server)?.code == .inUse)
    withExtendedLifetime(running) {}
  }

  @Test("a start in the same process does not lose its locks when the server before it is released (I2)")
  func restarted() throws {
    let server = try TestServer()
    server.inline = nil
    var configuration = Configuration(database: .directory(server.path))
    configuration.log = { _ in }
    var first: Server? = try Server(configuration)
    first?.stop()
    let second = try Server(configuration)
    let before = try locks(on: server.database)
    #expect(!before.isEmpty)
    first = nil
    #expect(try locks(on: server.database) == before)
    second.stop()
  }

  @Test("commands work beside the server")
  func beside() throws {
    let server = try TestServer()
    _ = try server.signUp("anna")
    #expect(try Administration(server.location).users().rows.map { $0[1] } == ["anna"])
    #expect(try server.findings().isEmpty)
  }
}
