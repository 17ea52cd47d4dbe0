import HoldfastCore
import Testing

@testable import HoldfastServer
@testable import HoldfastService

/// Which devices a webhook names.
@Suite struct WebhookDevicesTests {
  /// Devices 1 and 2 are ann's, 3 is bob's. 1 and 3 follow the public zone `news`; 3 follows `shop`, too.
  private func find(_ audience: PushAudience, after number: Int64, limit: Int) -> [PushTarget] {
    let found =
      switch audience {
      case .users(let users):
        users.flatMap { $0 == "ann" ? [target(1, "ann"), target(2, "ann")] : [target(3, "bob")] }
      case .followers(let zones):
        [target(1, "ann", "news"), target(3, "bob", "news"), target(3, "bob", "shop")].filter {
          zones.contains($0.zone ?? "")
        }
      }
    return Array(found.filter { $0.device > number }.sorted { $0.device < $1.device }.prefix(limit))
  }

  private func target(_ device: Int64, _ user: String, _ zone: String? = nil) -> PushTarget {
    PushTarget(
      device: device, id: "\(device)", user: user, zone: zone, token: PushToken(kind: "apns", token: "t"))
  }

  private func batches(
    _ zones: [(name: String, isPublic: Bool, users: [String])], authors: TextMap<Int64>, limit: Int = 10
  ) throws -> [[Int64]] {
    var devices = WebhookDevices(
      zones.map { UnnotifiedZone(zone: $0.name, seq: 1, isPublic: $0.isPublic, users: $0.users) },
      authors: authors, limit: limit, find: { find($0, after: $1, limit: $2) })
    var batches: [[Int64]] = []
    while true {
      let batch = try devices.next()
      if batch.isEmpty { return batches }
      batches.append(batch.map(\.device))
    }
  }

  @Test("the one who wrote all changes is left out; of several, and of unknown ones, nobody is")
  func authors() throws {
    let zone = ("z", false, ["ann", "bob"])
    #expect(try batches([zone], authors: ["z": 1]) == [[2, 3]])
    #expect(try batches([zone], authors: ["z": 0]) == [[1, 2, 3]])
    #expect(try batches([zone], authors: [:]) == [[1, 2, 3]])
  }

  @Test("a device that wrote one zone is named for another that somebody else wrote")
  func severalZones() throws {
    let (own, shared) = (("a", false, ["ann"]), ("s", false, ["ann", "bob"]))
    #expect(try batches([own, shared], authors: ["a": 1, "s": 1]) == [[2, 3]])
    #expect(try batches([own, shared], authors: ["a": 1, "s": 3]) == [[1, 2]])
  }

  @Test("who follows a public zone is named once, members and others alike, and not who wrote it")
  func followers() throws {
    #expect(try batches([("news", true, [])], authors: ["news": 1]) == [[3]])
    #expect(try batches([("news", true, []), ("shop", true, [])], authors: ["news": 3]) == [[1, 3]])
    let both = try batches([("news", true, ["bob"]), ("z", false, ["ann"])], authors: ["news": 3, "z": 1])
    #expect(both == [[2], [1]])
  }

  @Test("devices come in batches, without an empty one between them (I11)")
  func batched() throws {
    let zone = ("z", false, ["ann", "bob"])
    #expect(try batches([zone], authors: [:], limit: 1) == [[1], [2], [3]])
    #expect(try batches([zone], authors: ["z": 1], limit: 1) == [[2], [3]])
    #expect(try batches([("z", false, [])], authors: [:]).isEmpty)
  }

  @Test(
    "a batch that ends among the zones of a device that wrote the first of them still names it for the next")
  func cutOff() throws {
    let zones = [("news", true, [String]()), ("shop", true, [])]
    for limit in 1...4 {
      #expect(try batches(zones, authors: ["news": 3], limit: limit).flatMap { $0 } == [1, 3])
    }
  }
}
