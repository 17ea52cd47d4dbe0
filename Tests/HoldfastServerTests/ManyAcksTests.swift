import HoldfastCore
import HoldfastHTTP
import HoldfastService
import ServerScenes
import Testing

@testable import HoldfastServer

/// A device with very many zones. Invariants I4 and I12; docs/SERVER.md, "How long one request holds the writer".
@Suite("A request with many acks")
struct ManyAcksTests {
  let server: TestServer
  let alice: TestDevice

  init() throws {
    server = try TestServer()
    alice = try server.signUp("alice")
    try alice.pull()
    for number in 0..<12_000 { alice.acks["zone\(number)"] = "5f1c2a9e.1" }
  }

  private func command() throws -> SyncCommand {
    let api = try #require(server.inline).api
    let request = alice.request([], complete: true)
    let body = try SyncRequest(body: request.body, operations: api.operations)
    let device = try api.database.read { try $0.device(TokenHash(of: alice.token)) }
    return try SyncCommand(body, body: request.body, key: #require(device).key)
  }

  @Test("its acks are stored in pieces, and others write between them")
  func pieces() throws {
    let service = try #require(server.inline).service
    var (command, pieces) = (ServiceCommand.sync(try command()), 0)
    while case .unfinished(let progress) = try service.apply([command])[0]?.get() {
      pieces += 1
      command = command.goingOn(from: progress)
      _ = try server.signUp("other\(pieces)").makeList()
    }
    #expect(pieces == 2)
    #expect(try !alice.sync().mustResend)
  }

  @Test("a server that ends between two pieces asks for all acks again")
  func interrupted() throws {
    let service = try #require(server.inline).service
    guard case .unfinished = try service.apply([.sync(try command())])[0]?.get() else {
      Issue.record("All acks were stored at once.")
      return
    }
    try server.reopen()
    #expect(try alice.sync().mustResend)
    try alice.sync(complete: true)
    #expect(try !alice.sync().mustResend)
  }
}
