import HoldfastCore
import Testing

@testable import HoldfastServer

@Suite("The hub of events keeps its bounds")
struct EventHubTests {
  private func token(_ number: Int) -> TokenHash { TokenHash(of: "token \(number)") }

  private func changes(_ zones: [String], by device: Int64? = 0) -> ZoneChanges {
    var changes = ZoneChanges()
    for zone in zones { changes.add(zone: zone, by: device) }
    return changes
  }

  private func hub(zones: [String], limit: Int = 65_536) -> EventHub {
    let listeners = Dictionary(
      uniqueKeysWithValues: (0..<3000).map { number in
        (token(number).withBytes { Array($0) }, Int64(number + 1))
      })
    return EventHub(
      EventText(run: "run", heartbeat: .seconds(25)), log: ZoneChangeLog(limit: limit),
      .init(
        listener: { token in
          listeners[token.withBytes { Array($0) }].map { .init(device: $0, user: "user", zones: []) }
        }, zones: { _ in zones }, expired: { _ in [] }))
  }

  private func text(_ event: EventHub.Event?) -> String {
    String(decoding: event?.bytes ?? [], as: UTF8.self)
  }

  @Test("more than 256 zones that wait stand as all")
  func manyZones() {
    let zones = (0..<300).map { "zone\($0)" }
    var hub = hub(zones: zones)
    _ = hub.open(1, token: token(0), lastEventID: nil)
    _ = hub.moved(changes(Array(zones.prefix(256))))
    #expect(text(hub.takeEvents(10).first).contains("zone255"))
    for zone in zones { _ = hub.moved(changes([zone])) }
    let events = hub.takeEvents(10)
    #expect(events.count == 1)
    #expect(text(events.first).contains(#"{"zones":[]}"#))
    #expect(!hub.hasEvents)
  }

  @Test("the zones of a user are read once for all streams, and again once in a round of heartbeats (I4)")
  func sharedZones() {
    var (reads, zones) = (0, ["a"])
    var hub = EventHub(
      EventText(run: "run", heartbeat: .seconds(25)),
      .init(
        listener: { token in
          (0..<100).first { self.token($0) == token }.map {
            .init(device: Int64($0), user: "user", zones: [])
          }
        },
        zones: { _ in
          reads += 1
          return zones
        }, expired: { _ in [] }))
    for number in 0..<100 { _ = hub.open(number, token: token(number), lastEventID: nil) }
    for number in 0..<50 { hub.close(number) }
    #expect(reads == 1)

    // A membership that a commit tells of is read at once, whatever the number of streams.
    zones.append("b")
    var gained = ZoneChanges()
    gained.users = ["user"]
    _ = hub.moved(gained)
    #expect(reads == 2)
    #expect(hub.takeEvents(1000).count == 50)
    _ = hub.moved(changes(["b"]))
    #expect(hub.takeEvents(1000).count == 50)

    // What another program changes is seen in the next round, as a device has come or follows another zone.
    zones = ["b", "c"]
    _ = hub.open(100, token: token(1), lastEventID: nil)
    var followed = ZoneChanges()
    followed.devices = [60, 61, 62]
    _ = hub.moved(followed)
    #expect(reads == 2)
    _ = hub.takeEvents(1000)
    #expect(hub.endExpired(slot: 0).isEmpty)
    #expect(reads == 3)
    #expect(hub.takeEvents(1000).count == 51)
    _ = hub.moved(changes(["a", "c"]))
    #expect(hub.takeEvents(1000).allSatisfy { text($0).contains(#"{"zones":["c"]}"#) })

    // Nobody asks any more, and nothing of the user is kept.
    for number in 0...100 { hub.close(number) }
    _ = hub.endExpired(slot: 0)
    _ = hub.open(101, token: token(1), lastEventID: nil)
    #expect(reads == 4)
  }

  @Test("a user whose zones can't be read has no stream until they can (I4)")
  func unreadable() {
    var zones: [String]? = ["a"]
    var hub = EventHub(
      EventText(run: "run", heartbeat: .seconds(25)),
      .init(
        listener: { _ in .init(device: 1, user: "user", zones: []) }, zones: { _ in zones },
        expired: { _ in [] }))
    #expect(hub.open(1, token: token(1), lastEventID: nil).hello != nil)
    zones = nil
    var gained = ZoneChanges()
    gained.users = ["user"]
    #expect(hub.moved(gained) == [1])
    #expect(hub.open(2, token: token(1), lastEventID: nil).hello == nil)
    zones = ["b"]
    #expect(hub.open(3, token: token(1), lastEventID: nil).hello != nil)
    _ = hub.moved(changes(["b"]))
    #expect(hub.takeEvents(10).count == 1)
  }

  @Test("streams are told in turns, and none waits for ever")
  func turns() {
    var hub = hub(zones: ["all"])
    for number in 0..<30 { _ = hub.open(number, token: token(number), lastEventID: nil) }
    var sent: Set<Int> = []
    for _ in 0..<3 {
      _ = hub.moved(changes(["all"]))
      sent.formUnion(hub.takeEvents(10).map(\.stream))
    }
    #expect(sent == Set(0..<30))
  }

  @Test("every stream has its heartbeat in one of the moments, and they are spread")
  func slots() {
    var hub = hub(zones: [])
    for number in 0..<640 { _ = hub.open(number, token: token(number), lastEventID: nil) }
    let beats = (0..<EventHub.slots).map { hub.heartbeats(slot: $0).map(\.stream) }
    #expect(beats.allSatisfy { $0.count == 10 })
    #expect(Set(beats.joined()) == Set(0..<640))
  }

  @Test("the log purges the oldest, and who comes from before that is told to pull")
  func purging() {
    var hub = hub(zones: ["zone0", "zone99"], limit: 100)
    _ = hub.moved(changes(["zone0"]))
    for number in 1..<80 { _ = hub.moved(changes(["zone\(number)"])) }
    #expect(
      String(decoding: hub.open(1, token: token(0), lastEventID: "run-0").hello ?? [], as: UTF8.self)
        .contains(#""missed":false"#))
    #expect(text(hub.takeEvents(1).first).contains(#"{"zones":["zone0"]}"#))
    for number in 80..<200 { _ = hub.moved(changes(["zone\(number)"])) }
    _ = hub.takeEvents(10)
    #expect(
      String(decoding: hub.open(2, token: token(0), lastEventID: "run-1").hello ?? [], as: UTF8.self)
        .contains(#""missed":true"#))
    #expect(
      String(decoding: hub.open(3, token: token(0), lastEventID: "run-190").hello ?? [], as: UTF8.self)
        .contains(#""missed":false"#))
    #expect(!hub.hasEvents)
  }

  @Test("when moves may have been missed, nobody from before is told that nothing was (I4)")
  func interrupted() {
    var hub = hub(zones: ["a"])
    _ = hub.moved(changes(["b"]))
    func hasMissed(_ number: Int, _ id: String) -> Bool {
      String(decoding: hub.open(number, token: token(0), lastEventID: id).hello ?? [], as: UTF8.self)
        .contains(#""missed":true"#)
    }
    #expect(!hasMissed(1, "run-1"))
    hub.purge()
    #expect(hasMissed(2, "run-1"))
    #expect(!hasMissed(3, "run-2"))
  }

  @Test("what closes leaves nothing behind")
  func closed() {
    var hub = hub(zones: ["a", "b"])
    for number in 0..<100 { _ = hub.open(number, token: token(number), lastEventID: nil) }
    _ = hub.moved(changes(["a"]))
    for number in 0..<100 { hub.close(number) }
    hub.close(5)
    #expect(hub.count == 0)
    #expect(hub.takeEvents(1000).isEmpty)
    _ = hub.moved(changes(["a", "b"]))
    #expect(!hub.hasEvents)
    #expect((0..<EventHub.slots).allSatisfy { hub.heartbeats(slot: $0).isEmpty })
  }

  @Test("devices are asked to come back over a time that grows with their number: 200 a second")
  func retry() {
    #expect(EventText.retryMilliseconds(streams: 1) == 2000)
    #expect(EventText.retryMilliseconds(streams: 10_000) == 50_000)
    let text = EventText(run: "run", heartbeat: .milliseconds(25_000))
    #expect(
      String(decoding: text.hello(counter: 7, streams: 1, hasMissed: true), as: UTF8.self)
        == "retry: 2000\nid: run-7\nevent: hello\ndata: {\"heartbeat_ms\":25000,\"missed\":true}\n\n")
  }

  @Test("moves of several commits add up, and a zone of several writers is nobody's own")
  func changes() {
    var all = changes(["a"], by: 1)
    all.add(changes(["a", "b"], by: 1))
    #expect(all.zones == ["a": 1, "b": 1])
    all.add(changes(["a"], by: 2))
    all.add(changes(["a"], by: 1))
    #expect(all.zones == ["a": nil, "b": 1])
  }
}
