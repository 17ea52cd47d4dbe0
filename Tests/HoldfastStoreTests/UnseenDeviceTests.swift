import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Testing

@testable import HoldfastServer

/// Devices of which a restored server does not know yet what they have: docs/RESTORING.md, section 3.
@Suite struct UnseenDeviceTests {
  let server: TestServer
  let (phone, laptop): (TestDevice, TestDevice)
  let (list, item): (String, String)

  init() throws {
    let before = try TestServer()
    phone = try before.signUp("anna")
    list = try phone.makeList()
    item = try phone.makeItem(list)
    laptop = try before.signIn("anna")
    for device in [phone, laptop] { try device.pull() }
    let backup = try before.backUp()
    try phone.sync([.update("items", item, ["title": "Oat milk"])])
    try phone.pull()
    server = try before.restored(backup)
    for device in [phone, laptop] { device.server = server }
  }

  private func rename(_ device: TestDevice, _ title: String) throws {
    let body: JSONValue = ["columns": ["title": .string(title)]]
    #expect(try RestClient(device).send("PATCH", "/v1/tables/lists/\(list)", body).status == 200)
  }

  @Test("a device that first writes over REST is asked for its acks all the same (I3, I8)")
  func writesFirst() throws {
    try rename(laptop, "Home")
    let answer = try laptop.sync([.delete("items", item)])
    #expect(answer.mustResend && answer.confirmed == 0)
  }

  @Test("a device that writes over REST alone holds tombstones up no longer than a silent one (I11)")
  func writesAlone() throws {
    #expect(try phone.sync(complete: true).parts.contains { $0.isRestored })
    try phone.pull()
    try phone.sync([.delete("items", item)])
    for turn in 0..<5 {
      server.world.advance(20 * 86_400_000)
      try phone.pull()
      try rename(laptop, "\(turn)")
    }
    try server.inline?.purge()
    let count = try server.integer(
      "SELECT count(*) FROM holdfast_tombstones", "SELECT count(*) FROM holdfast.records WHERE state = 1")
    #expect(count == 0)
  }
}
