import Foundation
import Holdfast
import HostileServer
import Synchronization
import Testing

/// Every call of the client that has an address of its own, over HTTP: a transport within the process does not make an address of it.
@Suite("The addresses of the client") struct ClientAddressTests {
  /// Passes requests on, and keeps which were answered how.
  private final class Watched: Transport {
    private let transport: HTTPTransport
    private let seen = Mutex<[(request: String, status: Int)]>([])

    init(_ server: URL) { transport = HTTPTransport(server: server) }

    /// The requests that the server refused.
    var refused: [String] {
      seen.withLock { $0.filter { $0.status >= 300 }.map { "\($0.request): \($0.status)" } }
    }

    func send(_ request: TransportRequest) async throws -> TransportAnswer {
      let answer = try await transport.send(request)
      seen.withLock { $0.append(("\(request.method) \(request.path)", answer.status)) }
      return answer
    }
  }

  @Test("each is one that the server has (I10)")
  func all() async throws {
    let scene = try Scene()
    let (anns, bobs) = (Watched(scene.server.address), Watched(scene.server.address))
    let ann = try Device("ann", in: scene.folder, transport: anns, schema: scene.schema)
    let bob = try Device("bob", in: scene.folder, transport: bobs, schema: scene.schema)
    try await ann.engine.signUp(name: "ann", password: "correct-horse", device: "phone")
    try await bob.engine.signUp(name: "bob", password: "correct-horse", device: "phone")
    try await ann.engine.setPushToken(PushToken(kind: "apns", token: "one"))
    let list = try await ann.addList("Home")
    try await ann.engine.sync()

    let found = try #require(try await ann.engine.user(named: "bob"))
    #expect(found.user.name == "bob" && found.issuer == nil)
    #expect(try await ann.engine.user(named: "nobody") == nil)

    let invitation = try await ann.engine.invite(to: list, role: .editor)
    #expect(try await bob.engine.accept(invitation: invitation.token) == list)
    try await bob.engine.leave(zone: list)
    func share() async throws -> PendingMembership {
      try await ann.store.write {
        try $0.insert(Member(id: $0.newID(), zone: list, name: "bob", role: .owner))
      }
      try await ann.engine.sync()
      return try #require(try await bob.engine.pendingMemberships().first)
    }
    try await bob.engine.decline(membership: share().id)
    #expect(try await bob.engine.accept(membership: share().id) == list)
    try await bob.engine.sync()

    let other = try #require(try await bob.engine.user(named: "ann"))
    try await bob.engine.block(user: other.user.id)
    #expect(try await bob.engine.blockedUsers().contains(other.user))
    try await bob.engine.unblock(user: other.user.id)

    let team = try await ann.addList("Team")
    try await ann.engine.sync()
    try await ann.store.write {
      try $0.insert(Member(id: $0.newID(), zone: list, role: .viewer, group: team))
    }
    try await ann.engine.sync()
    let grant = try #require(try await ann.engine.grants(ofGroup: team).first)
    #expect(grant.zone == list)
    try await ann.engine.withdraw(grant: grant.id, ofGroup: team)
    #expect(try await ann.engine.grants(ofGroup: team).isEmpty)

    try await ann.engine.setPushToken(nil)
    try await ann.engine.sync()
    try await ann.engine.signOut()
    try await ann.engine.signIn(name: "ann", password: "correct-horse", device: "phone")
    try await ann.engine.eraseAccount(password: "correct-horse")
    #expect(anns.refused == ["GET v1/users?name=nobody: 404"])
    #expect(bobs.refused.isEmpty)
  }

  @Test("a name of outside stays one part of its path, below the path of the server")
  func encoded() async throws {
    let server = try HostileServer(
      Array(repeating: .bytes([UInt8]("HTTP/1.1 204 No Content\r\n\r\n".utf8)), count: 2))
    defer { server.stop() }
    let folder = try Programs.makeFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    for (number, end) in ["/sync", "/sync/"].enumerated() {
      let device = try Device(
        "device\(number)", in: folder, server: try #require(URL(string: server.url + end)),
        schema: try Scene.schema())
      try await device.engine.leave(zone: "a?b/c#d é%")
      let line = String(decoding: server.received[number], as: UTF8.self).prefix { $0 != "\r\n" }
      #expect(line == "DELETE /sync/v1/zones/a%3Fb%2Fc%23d%20%C3%A9%25/membership HTTP/1.1")
    }
  }
}
