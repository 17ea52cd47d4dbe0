import HoldfastCore
import ServerScenes
import Testing

@testable import HoldfastServer

/// The samples of the console's charts.
@Suite("Samples of the console") struct SampleTests {
  private static func sample(writing: Double = 0, memory: Double = 1) -> Sample {
    var sample = Sample()
    (sample[.writing], sample[.ok], sample[.memory]) = (writing, 2, memory)
    return sample
  }

  @Test("minutes with writes are stored at once, those without wait for an hour or for writes (I11)")
  func waiting() {
    let ring = SampleRing()
    for second in stride(from: Int64(6000), through: 6060, by: 10) {
      #expect(ring.add(Self.sample(), at: second) == (second == 6060))
    }
    #expect(ring.due(at: 6060).isEmpty)
    #expect(ring.unwritten.map(\.at) == [6000, 6060])
    #expect(ring.unwritten[0].sample[.ok] == 12)
    #expect(ring.due(at: 6000 + SampleRing.longestWait).count == 1)
    _ = ring.add(Self.sample(writing: 1), at: 6070)
    _ = ring.add(Self.sample(), at: 6120)
    let due = ring.due(at: 6120)
    #expect(due.map(\.at) == [6000, 6060])
    ring.wrote(due)
    #expect(ring.unwritten.map(\.at) == [6120])
  }

  @Test("a ring is bounded, also when the database takes nothing, and when the clock is set back (I11)")
  func bounded() {
    let ring = SampleRing()
    for minute in Int64(0)..<1000 { _ = ring.add(Self.sample(writing: 1), at: 600_000 + minute * 60) }
    #expect(ring.unwritten.count == SampleRing.waitLimit + 1)
    #expect(ring.recent.count == 60)
    _ = ring.add(Self.sample(), at: 60)
    #expect(ring.recent.map(\.at) == [60])
  }

  @Test("a sample survives the database, and a row that is none is a sample of nothing")
  func content() {
    var sample = Self.sample(writing: 3, memory: 1.5e9)
    sample[.requestSeconds] = 0.125
    #expect(Sample(content: sample.content) == sample)
    #expect(Sample(content: "no") == Sample())
    #expect(Sample(content: "{\"ok\": -1, \"memory\": \"x\", \"queue\": 1e400}") == Sample())
  }

  @Test("hours are made of minutes, sums and greatest values, and old rows go (I11)")
  func hours() throws {
    let scene = try ConsoleScene()
    let second = scene.console.now / 1000
    let hour = second - second % 3600 - 3600
    func put(_ rows: [(StoredSample.Span, Int64, Sample)]) throws {
      let stored = rows.map { StoredSample(node: "node", span: $0, at: $1, content: $2.content) }
      _ = try #require(scene.server.inline).service.apply([.keepSamples(stored)])
    }
    try put([
      (.minute, hour, Self.sample(memory: 5)), (.minute, hour + 60, Self.sample(memory: 7)),
      (.minute, hour + 3600, Self.sample()), (.minute, second - 90_000 - second % 60, Self.sample()),
    ])
    let made = try scene.console.read { try $0.hours(of: "node", before: hour + 3600, at: 0) }
    #expect(made.map(\.at) == [hour])
    #expect(made[0].sample[.ok] == 4 && made[0].sample[.memory] == 7)
    try put([(.hour, hour, made[0].sample)])
    #expect(try scene.console.read { try $0.hours(of: "node", before: hour + 3600, at: 0) }.isEmpty)
    for range in ["hour", "day", "month"] {
      let charts = try scene.get("charts?range=\(range)&node=node")
      let fields = try #require(charts["fields"]?.elements)
      let ok = try #require(fields.firstIndex(of: "ok")) + 1
      let points = try #require(charts["points"]?.elements)
      let total = points.reduce(0.0) { sum, point in
        guard case .real(let value)? = point.elements?[ok] else { return sum }
        return sum + value
      }
      // The last hour is of this node's memory, in which there is nothing.
      #expect(total == (range == "hour" ? 0 : 6), "\(range)")
      #expect(points.count <= 145)
    }
  }

  @Test("devices that are behind are counted, and none that is signed out")
  func lag() throws {
    let scene = try ConsoleScene()
    let anna = try scene.server.signUp("anna")
    let phone = try scene.server.signIn("anna")
    let list = try anna.makeList()
    for device in [anna, phone] { try device.pull() }
    var count = DeviceLagCount()
    func look() throws -> [Int] {
      try scene.console.read { try count.look($0) }
      return [count.counts.devices, count.counts.behind]
    }
    for device in [anna, phone] { try device.pull() }
    #expect(try look() == [2, 0])
    _ = try anna.makeItem(list)
    try anna.pull()
    try anna.pull()
    #expect(try look() == [2, 1])
    try Administration(scene.server.location, environment: scene.server.world.environment).revoke(
      device: phone.id)
    #expect(try look() == [1, 0])
  }
}
