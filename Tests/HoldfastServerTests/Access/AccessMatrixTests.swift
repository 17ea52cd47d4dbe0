import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Testing

@testable import HoldfastServer

/// Every operation of the document of the interface, by everybody.
@Suite("Who may do what")
struct AccessMatrixTests {
  private static let schema = try? TestServer.schema()

  /// The tables, and "" for the service.
  private static let subjects = [""] + (schema?.tables.map(\.name) ?? [])

  @Test("each operation of the document has a row, and each row an operation (I10)")
  func complete() throws {
    let server = try TestServer()
    let schema = try TestServer.schema()
    let rows = TextSet(try DocumentedOperation.all(server).map { $0.row(schema) })
    #expect(TextSet(AccessMatrix.rows.keys) == rows)
  }

  @Test(
    "an operation is answered to each as the table says, and what is refused changes nothing (I10)",
    arguments: subjects)
  func matrix(_ subject: String) throws {
    let scene = try AccessScene()
    let schema = try TestServer.schema()
    let all = try DocumentedOperation.all(scene.server).filter { ($0.table ?? "") == subject }
    // Who is erased asks nothing more.
    let operations = all.filter { !$0.leaves && !$0.erases } + all.filter(\.leaves) + all.filter(\.erases)
    try #require(!operations.isEmpty)
    for operation in operations {
      // Some end sessions.
      if subject.isEmpty { try scene.signIn() }
      let expected = AccessMatrix.rows[operation.row(schema)] ?? [:]
      for sender in AccessScene.Sender.allCases {
        let outcome = try ask(operation, as: sender, scene)
        let dead = sender == .stranger ? "401 token-missing" : "401 token-invalid"
        let isKnown = AccessScene.Sender.known.contains(sender)
        let wanted = isKnown ? expected[sender] : operation.isSecured ? dead : expected[.other]
        #expect(outcome == wanted, "\(operation.method) \(operation.path) as \(sender)")
      }
    }
    #expect(try scene.server.findings().isEmpty)
  }

  private func ask(
    _ operation: DocumentedOperation, as sender: AccessScene.Sender, _ scene: AccessScene
  ) throws -> String {
    let target = try scene.makeTarget(operation.table ?? "items")
    if operation.path.hasSuffix("/restore") {
      try scene.alice.send("DELETE", "/v1/tables/\(target.table)/\(target.id)")
    }
    let device = operation.path.hasPrefix("/v1/devices") ? try scene.deviceOfOwner() : ""
    let (path, body) = try operation.request(target, scene, device: device)
    let token = try scene.token(of: sender, for: target)
    let before = try scene.state(of: target)
    let request = TestServer.request(operation.method, path, body?.bytes ?? [], token: token)
    let secrets: TextMap = ["/v1/devices": device, "/v1/zones": target.zone]
    // A seal has nothing of its own to show.
    let shown = target.table == "seals" && operation.method == "GET" ? target.parent : target.secret
    let secret = secrets[operation.path] ?? shown
    let outcome = AccessOutcome(try answer(request, scene), secret: secret)
    if outcome.isRefused {
      #expect(try scene.state(of: target) == before, "\(operation.method) \(path) as \(sender)")
    }
    return outcome.description
  }

  /// A stream of events is answered by being there.
  private func answer(_ request: HTTPRequest, _ scene: AccessScene) throws -> HTTPResponse {
    guard request.path == "/v1/events" else { return try scene.server.respond(to: request) }
    let inline = try #require(scene.server.inline)
    switch inline.open(request, stream: scene.count) {
    case .success:
      inline.close(stream: scene.count)
      return HTTPResponse(status: 200)
    case .failure(let refused): return refused.answer
    }
  }
}
