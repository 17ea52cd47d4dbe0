import HoldfastCore
import ServerScenes
import Testing

@testable import HoldfastServer

@Suite("Zones and their changes")
struct ZoneReadTests {
  private let server: TestServer
  private let alice: TestDevice
  private let list: String

  init() throws {
    server = try TestServer()
    alice = try server.signUp("alice")
    list = try alice.makeList()
  }

  @Test("all zones that the user may read are listed, with the role and where they are (I10)")
  func zones() throws {
    let bob = try server.signUp("bob")
    _ = try alice.share(list, with: "bob", as: .viewer)
    let zones = try bob.get("/v1/zones").body["zones"]?.elements ?? []
    let roles = TextMap(
      zones.map { ($0["zone"]?.stringValue ?? "", $0["role"]?.stringValue ?? "") })
    #expect(roles == [bob.user: "owner", list: "viewer", "catalogue": "viewer"])
    for zone in zones {
      let (name, token) = (zone["zone"]?.stringValue ?? "", zone["token"]?.stringValue ?? "")
      let answer = try bob.get(
        "/v1/zones/\(name)/changes?since=\(token)", [("If-None-Match", "\"\(token)\"")])
      #expect(answer.status == 304)
    }
    #expect(try bob.get("/v1/zones?x=1").status == 400)
  }

  @Test("the changes of a zone come in seq order, so many at a time, each once (I4, I5)")
  func changes() throws {
    let items = try (0..<7).map { _ in try alice.makeItem(list) }
    try alice.sync([.delete("items", items[0])])
    var since = ""
    var seen: [String] = []
    var last: Int64 = 0
    var parts = 0
    while true {
      let part = try alice.get("/v1/zones/\(list)/changes?limit=2&since=\(since)")
      #expect(part.status == 200)
      #expect(part.body["from"]?.stringValue == since)
      let changes = part.body["changes"]?.elements ?? []
      #expect(part.body["count"]?.integerValue == Int64(changes.count))
      for change in changes {
        let seq = try #require(change["seq"]?.integerValue)
        #expect(seq > last)
        last = seq
        seen.append(change["id"]?.stringValue ?? "")
      }
      since = part.body["to"]?.stringValue ?? ""
      parts += 1
      if part.body["more"] == false { break }
      #expect(changes.count == 2)
    }
    #expect(parts == 5)
    #expect(seen.count == 9)
    #expect(TextSet(seen).count == 9)
    #expect(seen.last == items[0])
    let whole = try alice.get("/v1/zones/\(list)/changes")
    #expect(whole.body["changes"]?.elements?.count == 9)
    #expect(whole.tag == "\"\(since)\"")
    #expect(try alice.get("/v1/zones/\(list)/changes?limit=9").body["more"] == false)
    #expect(try alice.get("/v1/zones/\(list)/changes?limit=8").body["remaining"] == 1)
  }

  @Test("a part that was whole is not taken for the same when more has come behind it (I4)")
  func tags() throws {
    _ = try alice.makeItem(list)
    let target = "/v1/zones/\(list)/changes?limit=3"
    let whole = try alice.get(target)
    #expect(whole.body["more"] == false)
    #expect(try alice.get(target, [("If-None-Match", whole.tag)]).status == 304)
    _ = try alice.makeItem(list)
    let more = try alice.get(target, [("If-None-Match", whole.tag)])
    #expect(more.status == 200)
    // The token says that more is to come.
    #expect(more.body["to"] != whole.body["to"])
    #expect(more.body["more"] == true)
    #expect(try alice.get(target, [("If-None-Match", more.tag)]).status == 304)
  }

  @Test("tokens that are too old, of another history, ahead or none are refused")
  func tokens() throws {
    let token = try #require(try alice.get("/v1/zones/\(list)/changes").body["to"]?.stringValue)
    let target = "/v1/zones/\(list)/changes?since="
    for bad in ["x", "5f1c2a9e", "5f1c2a9e.-1", "5f1c2a9e.01", "5f1c2a9e.99999999999999999999"] {
      #expect(try alice.get(target + bad).status == 400, "\(bad)")
    }
    for bad in ["limit=0", "limit=10001", "limit=x", "since=&since=", "where.x=1", "since=%"] {
      #expect(try alice.get("/v1/zones/\(list)/changes?\(bad)").status == 400, "\(bad)")
    }
    let other = try alice.get(target + "00000000." + token.split(separator: ".")[1])
    #expect(other.status == 410)
    #expect(other.code == "token-fenced")
    #expect(try alice.get(target + token.split(separator: ".")[0] + ".99999").code == "token-fenced")
    _ = try alice.makeItem(list)
    try server.change(
      sqlite: "UPDATE holdfast_zones SET purged = seq", postgres: "UPDATE holdfast.zones SET purged = seq")
    #expect(try alice.get(target + token).code == "token-fenced")
    #expect(try alice.get(target).status == 200)
  }
}
