import HoldfastCore
import ServerScenes
import Synchronization
import Testing

@testable import HoldfastServer

/// What the console shows of the database.
@Suite("Answers of the console") struct ConsoleAnswerTests {
  let scene: ConsoleScene
  let server: TestServer
  let anna: TestDevice
  let phone: TestDevice
  let bob: TestDevice
  let list: String
  let item: String

  init() throws {
    scene = try ConsoleScene()
    server = scene.server
    anna = try server.signUp("anna")
    phone = try server.signIn("anna")
    bob = try server.signUp("bob")
    list = try anna.makeList()
    item = try anna.makeItem(list)
    for device in [anna, phone, bob] { try device.pull() }
  }

  private func why(_ record: String, on device: TestDevice) throws -> String {
    try #require(scene.get("records/\(record)?device=\(device.id)")["answer"]?.stringValue)
  }

  private func zone(_ name: String, of device: TestDevice) throws -> JSONValue {
    let zones = try #require(scene.get("devices/\(device.id)")["zones"]?.elements)
    return try #require(zones.first { $0["zone"] == .string(name) })
  }

  // MARK: Why a device does not show a record

  @Test("a device that has the record's last change has it")
  func shown() throws {
    #expect(try why(item, on: phone).contains("it has the record, so look in its app"))
  }

  @Test(
    "a device that has not synced since lacks the record until it does, and the console says how far it is")
  func behind() throws {
    let new = try anna.makeItem(list, "Bread")
    try anna.pull()
    #expect(try why(new, on: phone).contains("it lacks it until it syncs"))
    #expect(try zone(list, of: phone)["state"] == "behind")
    #expect(try zone(list, of: phone)["changes"] == 1)
    #expect(try zone(list, of: anna)["state"] == "current")
    // What it had before, it still shows.
    #expect(try why(item, on: phone).contains("it has the record"))
    let devices = try #require(scene.get("devices?search=anna")["devices"]?.elements)
    let shown = try #require(devices.first { $0["id"] == .string(phone.id) })
    #expect(shown["zones_behind"] == 1 && shown["changes_behind"] == 1 && shown["complete"] == true)
    try phone.pull()
    #expect(try zone(list, of: phone)["state"] == "current")
  }

  @Test("a user who may not read the zone is named, until the zone is shared")
  func noAccess() throws {
    #expect(try why(item, on: bob).contains("bob, the device's user, may not read that zone"))
    _ = try anna.share(list, with: "bob")
    #expect(try why(item, on: bob).contains("has not acknowledged anything of the zone"))
    try bob.pull()
    #expect(try why(item, on: bob).contains("it has the record"))
  }

  @Test("a device that is signed out says so, and one whose session is too old")
  func signedOut() throws {
    let new = try anna.makeItem(list, "Bread")
    try Administration(server.location, environment: server.world.environment).revoke(device: phone.id)
    #expect(try why(new, on: phone).contains("is signed out"))
    #expect(try scene.get("devices/\(phone.id)")["session"] == "signed out")
    let idle = server.world.limits.withLock { $0.sessionIdle }
    server.world.advance(idle.components.seconds * 1000)
    #expect(try scene.get("devices/\(anna.id)")["session"] == "expired")
  }

  @Test(
    "a device that has not synced since a restore says so, and one whose acks were purged",
    arguments: [
      ("unseen_since_restore", "has not synced since the last restore"),
      ("acks_purged", "its acks were purged"),
    ])
  func away(mark: String, reason: String) throws {
    let new = try anna.makeItem(list, "Bread")
    try server.change(
      sqlite: "UPDATE holdfast_devices SET \(mark) = 1 WHERE id = '\(phone.id)'",
      postgres: "UPDATE holdfast.devices SET \(mark) = true WHERE id = '\(phone.id)'")
    #expect(try why(new, on: phone).contains(reason))
    #expect(try scene.get("devices/\(phone.id)")["note"]?.stringValue?.contains(reason) == true)
    #expect(try scene.get("devices/\(anna.id)")["note"] == "")
  }

  @Test("a device that an operator reset must resync")
  func reset() throws {
    try Administration(server.location, environment: server.world.environment).reset(
      .device(phone.id), zone: list)
    #expect(try why(item, on: phone).contains("must resync the zone"))
    #expect(try zone(list, of: phone)["state"] == "resync")
  }

  @Test("a deleted record has the time and the person, and an unknown id what may have become of it")
  func gone() throws {
    try anna.sync([.delete("items", item)])
    #expect(try why(item, on: phone).contains("The record was deleted at"))
    let found = try scene.get("records/\(item)")
    #expect(found["places"]?.elements?.first?["state"] == "deleted")
    let change = try #require(found["changes"]?.elements?.first)
    #expect(change["what"] == "deleted" && change["user"]?["name"] == "anna")
    #expect(change["device"]?["id"] == .string(anna.id))
    #expect(try why(anna.newID(), on: phone).contains("The database has no record with this id"))
  }

  @Test("a record's history has who created it and who changed which column last")
  func history() throws {
    try phone.sync([.update("items", item, ["title": "Oat milk"])])
    let changes = try #require(scene.get("records/\(item)")["changes"]?.elements)
    let made = try #require(changes.first { $0["what"] == "created" })
    #expect(made["device"]?["id"] == .string(anna.id))
    let title = try #require(changes.first { $0["what"] == "changed title" })
    #expect(title["device"]?["id"] == .string(phone.id) && title["user"]?["name"] == "anna")
    #expect(changes.count == 2)
  }

  // MARK: Lists

  @Test("a conflict has both values and both people")
  func conflicts() throws {
    for (device, title, time) in [(anna, "Late", Int64(9000)), (phone, "Early", 8000)] {
      try device.sync([
        .update(
          "items", item, ["title": .string(title)], base: ["title": "Milk"], at: Stamp(milliseconds: time))
      ])
    }
    for page in [try scene.get("conflicts"), try scene.get("records/\(item)")] {
      let conflict = try #require(page["conflicts"]?.elements?.first)
      #expect(conflict["winner"]?["value"]?.stringValue?.contains("Late") == true)
      #expect(conflict["loser"]?["value"]?.stringValue?.contains("Early") == true)
      #expect(conflict["loser"]?["device"] == .string(phone.id))
      #expect(conflict["winner"]?["user"]?["name"] == "anna" && conflict["resolution"] == "open")
    }
  }

  @Test("a refused change set is shown with its person, until the device has dealt with it")
  func refusals() throws {
    _ = try bob.refused(.update("items", item, ["title": "x"]))
    for page in [try scene.get("refusals"), try scene.get("devices/\(bob.id)")] {
      let refusal = try #require(page["refusals"]?.elements?.first)
      #expect(refusal["problem"] == "record-unknown")
    }
    let refusal = try #require(scene.get("refusals")["refusals"]?.elements?.first)
    #expect(refusal["user"]?["name"] == "bob" && refusal["device"]?["id"] == .string(bob.id))
    try bob.sync()
    #expect(try scene.get("refusals")["refusals"]?.elements?.isEmpty == true)
  }

  @Test("users and devices are found by names, their beginnings and ids")
  func search() throws {
    func users(_ search: String) throws -> [String] {
      try #require(scene.get("users?search=\(search)")["users"]?.elements).compactMap {
        $0["name"]?.stringValue
      }
    }
    #expect(try users("") == ["anna", "bob"])
    #expect(try users("an") == ["anna"])
    #expect(try users(bob.user) == ["bob"])
    #expect(try users("nn").isEmpty)
    for search in ["bob", bob.id, bob.user] {
      let devices = try #require(scene.get("devices?search=\(search)")["devices"]?.elements)
      #expect(devices.map { $0["id"] } == [.string(bob.id)])
    }
    #expect(try scene.get("devices")["devices"]?.elements?.count == 3)
  }

  @Test("a zone has its growth and the users who may read it")
  func zones() throws {
    _ = try anna.share(list, with: "bob", as: .viewer)
    let zone = try scene.get("zones/\(list)")
    // The list, the item and two members.
    #expect(zone["records"] == 4 && zone["purged"] == 0)
    #expect(zone["bytes"]?.integerValue ?? 0 > 0)
    let members = try #require(zone["members"]?.elements)
    let roles = TextMap(
      members.map { ($0["user"]?["name"]?.stringValue ?? "", $0["role"]?.stringValue ?? "") })
    #expect(roles["anna"] == "owner" && roles["bob"] == "viewer")
    #expect(try scene.get("zones?search=\(list.prefix(20))")["zones"]?.elements?.isEmpty == false)
  }

  @Test("a zone names the device that holds its tombstones back, until the device is dead or has synced")
  func retention() throws {
    #expect(try scene.get("zones/\(list)")["held_by"] == .null)
    try anna.sync([.delete("items", item)])
    try anna.pull()
    let zone = try scene.get("zones/\(list)")
    #expect(zone["held_by"]?["id"] == .string(phone.id))
    let devices = try #require(zone["devices"]?.elements)
    #expect(devices.map { $0["id"] } == [.string(phone.id), .string(anna.id)])
    #expect(devices.map { $0["state"] } == ["behind", "current"])
    server.world.advance(Retention().devices.components.seconds * 1000)
    #expect(try scene.get("zones/\(list)")["held_by"] == .null)
    #expect(try scene.get("zones/\(list)")["devices"]?.elements?.first?["live"] == false)
  }

  @Test("the recovery after a restore is shown as the command shows it")
  func recovery() throws {
    let shown = try scene.get("recovery")
    let administration = try Administration(server.location, environment: server.world.environment)
    for (name, listing) in [
      ("claims", try administration.recoveryClaims()), ("missing", try administration.restoreReport()),
    ] {
      #expect(shown[name]?["columns"] == .array(listing.columns.map { .string($0) }))
      #expect(shown[name]?["count"] == .integer(Int64(listing.rows.count)))
    }
  }

  @Test("pages follow one another without gaps and repeats")
  func pages() throws {
    for number in 0..<Console.pageSize { _ = try server.signUp("user-\(number)") }
    for (address, key, count) in [
      ("users", "users", 52), ("devices", "devices", 53), ("zones", "zones", 54),
    ] {
      let first = try scene.get(address)
      #expect(first[key]?.elements?.count == Console.pageSize)
      let next = try #require(first["next"]?.stringValue)
      let second = try scene.get("\(address)?after=\(next)")
      #expect(second["next"] == .null)
      let all = (first[key]?.elements ?? []) + (second[key]?.elements ?? [])
      let names = all.compactMap { ($0["id"] ?? $0["zone"])?.stringValue }
      #expect(names.count == count && TextSet(names).count == count, "\(address)")
    }
  }

  @Test("the log keeps its last lines, and cuts long ones")
  func log() {
    let ring = LogRing()
    for number in 0..<LogRing.size + 3 { ring.add("\(number)") }
    #expect(ring.newestFirst.first == "\(LogRing.size + 2)" && ring.newestFirst.last == "3")
    ring.add(String(repeating: "é", count: LogRing.lineLimit))
    #expect(ring.newestFirst[0].utf8.count <= LogRing.lineLimit + 3)
    #expect(ring.newestFirst.count == LogRing.size)
  }
}
