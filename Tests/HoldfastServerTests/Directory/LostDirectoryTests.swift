import HoldfastCore
import HoldfastHTTP
import ServerScenes
import TemporaryPostgres
import Testing

@testable import HoldfastServer

/// A directory that is stopped and comes back: docs/DIRECTORY.md, section 7. Invariant I12.
@Suite struct LostDirectoryTests {
  @Test("without the directory syncing and signing in go on, and what needs it says so (I12)")
  func lost() throws {
    let postgres = try TemporaryPostgres()
    let scene = try DirectoryScene(url: postgres.makeDatabase())
    let ann = try scene.a.signUp("ann")
    let guest = try scene.guest(ann)
    let pass = try scene.pass(ann)
    try postgres.stop()
    for server in [scene.a, scene.b] { try server.reopen() }
    let list = try guest.makeList()
    try guest.pull()
    #expect(guest.has("lists", list))
    _ = try scene.a.signIn("ann")
    let password: JSONValue = ["name": "ann", "password": "correct horse", "device": ["name": "x"]]
    for answer in [
      try scene.a.respond(to: DirectoryScene.signUp("bob")), try scene.b.post("/v1/sessions", password),
      try scene.b.respond(to: DirectoryScene.signIn(pass)),
    ] { #expect(answer.status == 503 && DirectoryScene.code(answer) == "directory-unavailable") }
    let rest = RestClient(ann)
    #expect(try rest.send("POST", "/v1/passes", ["database": "b"]).status == 503)
    #expect(try rest.get("/v1/databases").status == 503)
    // An end waits in the home's row.
    try rest.send("DELETE", "/v1/sessions/current")
    #expect(throws: Problem.self) { try scene.follow() }
    #expect(try DirectoryScene.isGood(guest))
    try postgres.start()
    // The connections pause a second after they were refused.
    for server in [scene.a, scene.b] { try server.reopen() }
    try scene.follow()
    #expect(try !DirectoryScene.isGood(guest))
    #expect(try scene.a.respond(to: DirectoryScene.signUp("bob")).status == 201)
    #expect(try DirectoryScene.code(scene.b.respond(to: DirectoryScene.signIn(pass))) == "pass-invalid")
  }
}
