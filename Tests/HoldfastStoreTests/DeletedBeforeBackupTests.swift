import HoldfastCore
import ServerScenes
import Testing

@testable import HoldfastServer

/// A record that was deleted when the backup was taken: docs/RESTORING.md, section 4.
@Suite struct DeletedBeforeBackupTests {
  @Test(
    "restored and edited after the backup it comes back, also if its deletion was sent again in between (I2)",
    arguments: [true, false])
  func restored(isSentAgain: Bool) throws {
    let before = try TestServer()
    let phone = try before.signUp("anna")
    let list = try phone.makeList()
    let item = try phone.makeItem(list)
    let stale = try before.signIn("anna")
    for device in [phone, stale] { try device.pull() }
    try phone.sync([.delete("items", item)])
    try phone.pull()
    let backup = try before.backUp()
    let columns: JSONValue = ["list_id": .string(list), "title": "Oat milk"]
    try phone.sync([.create("items", item, columns)])
    try phone.pull()
    let server = try before.restored(backup)
    for device in [phone, stale] {
      device.server = server
      try device.sync(complete: true)
    }
    if isSentAgain { try stale.sync([.update("items", item, ["title": "Stale"])]) }
    let record: JSONValue = [
      "table": "items", "id": .string(item), "zone": .string(list), "rev": 3, "columns": columns,
    ]
    let body: JSONValue = [
      "protocol": 1, "acknowledged_refusals": .integer(phone.answers), "digest": .string(phone.digest),
      "recovered": [record],
    ]
    let answer = try phone.apply(try server.post("/v1/sync", body, token: phone.token))
    #expect(answer.recovered?.refused.isEmpty == true)
    try stale.pull()
    #expect(stale.column("items", item, "title") == "Oat milk" && stale.records["items \(item)"]?.rev == 3)
    #expect(try server.findings().isEmpty)
  }
}
