import Foundation
import HoldfastCore
import HoldfastHTTP
import HoldfastServer
import ServerScenes
import Testing

/// Accounts, sessions and devices: PROTOCOL.md, section 2.
@Suite struct AccountTests {
  let server: TestServer

  init() throws { server = try TestServer() }

  private func code(_ response: HTTPResponse) -> ProblemCode? { Problem(document: response.body)?.code }

  @Test("a name is taken once")
  func nameTaken() throws {
    _ = try server.signUp("alice")
    let again = try server.post(
      "/v1/accounts", ["name": "alice", "password": "other password", "device": ["name": "x"]])
    #expect(code(again) == .nameTaken)
    #expect(again.status == 409)
  }

  @Test("an unknown name and a wrong password are answered alike (I10)")
  func wrong() throws {
    _ = try server.signUp("alice")
    let wrong = try server.post(
      "/v1/sessions", ["name": "alice", "password": "wrong password", "device": ["name": "x"]])
    let unknown = try server.post(
      "/v1/sessions", ["name": "nobody", "password": "wrong password", "device": ["name": "x"]])
    #expect(code(wrong) == .credentialsWrong)
    #expect(wrong.status == 401)
    #expect(wrong.body == unknown.body)
  }

  @Test("signing in with a device's id continues it under a new token, and the old token is dead")
  func continued() throws {
    let alice = try server.signUp("alice")
    let list = try alice.makeList()
    let again = try server.signIn("alice", device: alice.id)
    #expect(again.id == alice.id)
    #expect(again.token != alice.token)
    #expect(try again.sync().confirmed == 1)
    #expect(code(try server.respond(to: alice.request([]))) == .tokenInvalid)
    try again.pull()
    #expect(again.has("lists", list) || again.acks.isEmpty == false)
  }

  @Test("the id of somebody else's device makes a new one (I10)")
  func foreignDevice() throws {
    let (alice, _) = (try server.signUp("alice"), try server.signUp("bob"))
    #expect(try server.signIn("bob", device: alice.id).id != alice.id)
    try alice.pull()
  }

  @Test("a token is dead after signing out, for what waits to be written as well")
  func signOut() throws {
    let alice = try server.signUp("alice")
    let inline = try #require(server.inline)
    let out = TestServer.request("DELETE", "/v1/sessions/current", [], token: alice.token)
    let late = alice.request([[.create("lists", alice.newID(), ["title": "Late"])]])
    let answers = inline.respond(to: [out, late])
    #expect(answers.map(\.status) == [204, 401])
    #expect(code(try server.respond(to: alice.request([]))) == .tokenInvalid)
    let phone = try server.signIn("alice")
    try phone.pull()
    #expect(phone.all("lists").isEmpty)
  }

  @Test(
    "what a name, a password or a device's name may not be is refused",
    arguments: [
      #"{"name":"Alice","password":"correct horse","device":{"name":"x"}}"#,
      #"{"name":"-a","password":"correct horse","device":{"name":"x"}}"#,
      #"{"name":"","password":"correct horse","device":{"name":"x"}}"#,
      #"{"name":"alice","password":"short","device":{"name":"x"}}"#,
      #"{"name":"alice","password":"correct horse","device":{"name":""}}"#,
      #"{"name":"alice","password":"correct horse"}"#,
      #"{"name":"alice","password":"correct horse","device":{"name":"x"},"admin":true}"#,
      #"{"name":1,"password":"correct horse","device":{"name":"x"}}"#,
    ])
  func forms(_ body: String) throws {
    let answer = try server.post("/v1/accounts", bytes: Array(body.utf8))
    #expect(answer.status == 400)
    #expect(code(answer) == .invalidRequest)
    #expect(try Administration(server.location).users().rows.isEmpty)
  }

  @Test("a password for a name that nobody has is verified with the work of a real one, in vain (I10)")
  func decoy() throws {
    let system = ServerEnvironment.system.passwords
    let real = try #require(system.hash("correct horse"))
    // $argon2id$v=19$m=…,t=…,p=…$salt$hash
    let (parts, decoys) = (real.split(separator: "$"), system.decoy.split(separator: "$"))
    #expect(parts.prefix(3) == decoys.prefix(3))
    #expect(parts.map(\.count) == decoys.map(\.count))
    #expect(!system.verify("correct horse", system.decoy))
  }

  @Test("neither tokens nor passwords are in the database")
  func secrets() throws {
    let alice = try server.signUp("alice")
    let system = ServerEnvironment.system.passwords
    let stored = try #require(system.hash("correct horse"))
    #expect(stored.hasPrefix("$argon2id$"))
    #expect(system.verify("correct horse", stored))
    #expect(!system.verify("correct house", stored))
    server.inline = nil
    #expect(try !server.dump().contains(alice.token))
  }
}
