import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Testing

/// What a write by REST keeps of the device that sends it.
@Suite("A device that writes by REST")
struct PresenceTests {
  private let server: TestServer
  private let alice: TestDevice

  init() throws {
    server = try TestServer()
    alice = try server.signUp("alice")
  }

  private func post(_ title: String) throws {
    let body = Array(#"{"columns":{"title":"\#(title)"}}"#.utf8)
    let request = TestServer.request("POST", "/v1/tables/lists", body, token: alice.token)
    #expect(try server.respond(to: request).status == 201)
  }

  private func lastClock() throws -> Int64 {
    try #require(
      try server.integer("SELECT max(clock) FROM holdfast_zones", "SELECT max(clock) FROM holdfast.zones"))
  }

  @Test("it is written down once a minute that it is alive, and with its first write")
  func presence() throws {
    server.world.advance(3_600_000)
    try post("one")
    let first = server.world.now
    #expect(try server.integer(ofDevices: "seen_at") == first)
    server.world.advance(30_000)
    try post("two")
    #expect(try server.integer(ofDevices: "seen_at") == first)
    server.world.advance(31_000)
    try post("three")
    #expect(try server.integer(ofDevices: "seen_at") == server.world.now)
  }

  @Test("its next edit is later than those before, after a restart with a clock that went back (I7)")
  func clock() throws {
    try post("one")
    server.world.setClock(ahead: 3_600_000)
    try post("two")
    let before = try lastClock()
    #expect(Stamp(rawValue: before).milliseconds >= server.world.now)
    server.world.setClock(ahead: 0)
    try server.reopen()
    try post("three")
    #expect(try lastClock() > before)
  }
}
