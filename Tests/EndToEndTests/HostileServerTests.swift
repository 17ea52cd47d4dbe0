import Foundation
import Holdfast
import HoldfastServer
import HostileServer
import Testing

/// Servers that answer wrongly: no answer ends a process or loses an edit.
@Suite("Hostile servers") struct HostileServerTests {
  private static func answer(_ body: String) -> [UInt8] {
    [UInt8](
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        .utf8)
  }

  @Test("a device keeps its edits, and goes on, whatever part of an answer it gets (I3)")
  func device() async throws {
    let session = Self.answer(
      #"{"user":{"id":"u","name":"ann"},"device":{"id":"d","name":"phone","session":"s"},"token":"t"}"#)
    let sync = Self.answer(
      #"{"clock":"0000000000000001","confirmed":0,"chain":"0000000000000000","refused":[],"resend":false,"zones":[],"lost":[]}"#
    )
    let others = [
      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnull",
      "HTTP/1.1 503 X\r\nRetry-After: 9223372036854775807\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 429 X\r\nRetry-After: -9223372036854775808\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 301 X\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n",
      "HTTP/1.1 204 No Content\r\n\r\n", "HTTP/0.9",
      "HTTP/1.1 200 OK\r\n\r\n<html>sign in to the hotel's network</html>",
    ].map { [UInt8]($0.utf8) }
    let wrong = (0..<sync.count).map { Array(sync[..<$0]) } + others
    let server = try HostileServer([.bytes(session)] + wrong.map { .bytes($0) })
    defer { server.stop() }
    let folder = try Programs.makeFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let phone = try Device(
      "phone", in: folder, server: try #require(URL(string: server.url)), schema: try Scene.schema())
    try await phone.engine.signUp(name: "ann", password: "correct-horse", device: "phone")
    try await phone.store.write {
      try $0.execute("INSERT INTO lists (id, title) VALUES (?, 'Groceries')", [.text($0.newID())])
    }
    for _ in wrong {
      await #expect(throws: StoreError.self) { try await phone.engine.sync() }
    }
    #expect(server.received.count == wrong.count + 1)
    #expect(try await phone.store.waitingOperations() == 1)
  }

  @Test("a server goes on when a webhook's receiver cuts its answers, redirects or sends without an end")
  func webhook() async throws {
    let other = try HostileServer([])
    defer { other.stop() }
    let receiver = try HostileServer([
      .bytes([UInt8]("HTTP/1.1 200".utf8)),
      .bytes([UInt8]("HTTP/1.1 200 OK\r\nContent-Le".utf8)),
      .bytes([UInt8]("HTTP/1.1 307 X\r\nLocation: \(other.url)\r\nContent-Length: 0\r\n\r\n".utf8)),
      .endless([UInt8]("HTTP/1.1 200 OK\r\n\r\n".utf8), [UInt8](repeating: 0x78, count: 65536)),
      .bytes([UInt8]("HTTP/1.1 204 No Content\r\n\r\n".utf8)),
    ])
    defer { receiver.stop() }
    let folder = try Programs.makeFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let secret = folder.appendingPathComponent("secret")
    try Data("0123456789abcdef".utf8).write(to: secret)
    let server = try ServerProcess(
      folder: folder, schema: try Scene.schema(), try SharedDatabase.make(in: folder),
      options: ["--webhook", receiver.url, "--webhook-secret", secret.path])
    let phone = try Device("phone", in: folder, server: server.address, schema: try Scene.schema())
    try await phone.engine.signUp(name: "ann", password: "correct-horse", device: "phone")
    try await phone.store.write {
      try $0.execute("INSERT INTO lists (id, title) VALUES (?, 'Groceries')", [.text($0.newID())])
    }
    try await phone.engine.sync()
    receiver.wait(for: 5)
    #expect(other.received.isEmpty)
    #expect(
      receiver.received.allSatisfy { String(decoding: $0, as: UTF8.self).contains("Holdfast-Signature") })
    #expect(server.stop() == 0)
  }

  @Test("a server goes on when an identity provider cuts its keys")
  func identityProvider() async throws {
    let provider = try HostileServer([
      .bytes([UInt8]("HTTP/1.1 200 OK\r\nContent-".utf8)),
      .bytes(Array(Self.answer(#"{"keys":[]}"#).dropLast(2))),
    ])
    defer { provider.stop() }
    let folder = try Programs.makeFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let server = try ServerProcess(
      folder: folder, schema: try Scene.schema(), try SharedDatabase.make(in: folder),
      options: [
        "--jwt-issuer", "https://id.example.org", "--jwt-audience", "holdfast", "--jwt-keys", provider.url,
      ])
    let transport = HTTPTransport(server: server.address)
    let signIn = JSONValue.object([
      .init("token", .string(IdentityTests.token)),
      .init("device", .object([.init("name", .string("phone"))])),
    ])
    let refused = try await transport.send(
      TransportRequest(method: "POST", path: "v1/sessions", body: signIn.bytes))
    #expect(refused.status == 401 || refused.status == 503)
    #expect(provider.received.count >= 1)
    let answer = try await transport.send(TransportRequest(method: "GET", path: "healthz"))
    #expect(answer.status == 200)
    #expect(server.stop() == 0)
  }
}
