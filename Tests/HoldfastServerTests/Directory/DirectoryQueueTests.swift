import Foundation
import FoundationNetworking
import HoldfastCore
import HoldfastHTTP
import HoldfastSystem
import ServerScenes
import TemporaryPostgres
import Testing

@testable import HoldfastServer

/// The requests that wait for the directory: docs/DIRECTORY.md, section 7.
@Suite struct DirectoryQueueTests {
  @Test("strangers who fill their queue to a slow directory keep no session from asking it (availability)")
  func strangers() async throws {
    let scene = try DirectoryScene()
    let ann = try scene.a.signUp("ann")
    scene.a.inline = nil
    var configuration = Configuration(
      schema: try TestServer.schema(), database: scene.a.location, log: { _ in })
    configuration.directory = scene.a.directory
    configuration.trustedProxies = TrustedProxies([try #require(IPAddress.Range("127.0.0.1"))])
    let server = try Server(configuration)
    defer { server.stop() }
    let fetches = server.dispatcher.fetches
    let (started, release) = (Door(), Door())
    defer { release.open() }
    let slow: @Sendable () -> Void = {
      started.open()
      release.wait()
    }
    #expect(fetches.enqueue(slow, of: .at("192.0.2.1")))
    started.wait()
    for address in 2..<100 {
      while fetches.enqueue({ release.wait() }, of: .at("192.0.\(address).1")) {}
    }
    func status(_ method: String, _ path: String, _ body: JSONValue?, token: String?) async throws -> Int? {
      var request = URLRequest(url: try #require(URL(string: "\(server.url)\(path)")))
      request.httpMethod = method
      request.httpBody = body.map { Data($0.bytes) }
      request.setValue("application/json", forHTTPHeaderField: "Content-Type")
      request.setValue("192.1.2.3", forHTTPHeaderField: "X-Forwarded-For")
      if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
      return (try await URLSession.shared.data(for: request).1 as? HTTPURLResponse)?.statusCode
    }
    let stranger = try await status("POST", "/v1/sessions", DirectoryScene.body("invented"), token: nil)
    #expect(stranger == 503)
    #expect(try await status("GET", "/v1/databases", nil, token: ann.token) == 200)
    #expect(try await status("POST", "/v1/passes", ["database": "b"], token: ann.token) == 201)
  }

  @Test("an address that invents passes has to wait, and others have not (I10)")
  func invented() throws {
    let scene = try DirectoryScene()
    let pass = try scene.pass(scene.a.signUp("ann"))
    func answer(_ pass: String, from address: String) throws -> HTTPResponse {
      var request = DirectoryScene.signIn(pass)
      request.remoteAddress = address
      return try scene.b.respond(to: request)
    }
    var codes: [String?] = []
    for number in 0...100 {
      codes.append(DirectoryScene.code(try answer("invented \(number)", from: "192.0.2.1")))
    }
    #expect(codes.prefix(100).allSatisfy { $0 == "pass-invalid" } && codes.last == "too-many-attempts")
    #expect(try answer(pass, from: "192.0.2.2").status == 200)
  }
}
