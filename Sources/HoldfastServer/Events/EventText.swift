import HoldfastCore
import HoldfastService

/// Encodes events in the wire format of PROTOCOL.md, section 3.1. Source: the HTML standard, section 9.2.5.
struct EventText: Sendable {
  /// Identifies this run of the server: the counter restarts with each run.
  let run: String
  let heartbeatMilliseconds: Int64

  /// - Parameter run: letters and digits only.
  init(run: String, heartbeat: Duration) {
    self.run = run
    heartbeatMilliseconds = max(heartbeat.wholeMilliseconds, 1)
  }

  /// The first event of a stream.
  func hello(counter: UInt64, streams: Int, hasMissed: Bool) -> [UInt8] {
    Array(
      """
      \(fields(counter, streams))event: hello
      data: {"heartbeat_ms":\(heartbeatMilliseconds),"missed":\(hasMissed)}


      """.utf8)
  }

  /// An event that names changed zones. An empty list stands for any zone.
  func moved(_ zones: [String], counter: UInt64) -> [UInt8] {
    var writer = JSONWriter(capacity: 32 + 40 * zones.count)
    writer.beginObject()
    writer.key("zones")
    writer.beginArray()
    for zone in zones { writer.string(zone) }
    writer.endArray()
    writer.endObject()
    return Array("id: \(run)-\(counter)\nevent: zones\ndata: ".utf8) + writer.bytes + Array("\n\n".utf8)
  }

  /// The last event of a stream that a newer stream of the same device replaces.
  static let replaced = Array("event: replaced\ndata: {}\n\n".utf8)

  /// A block without data: an EventSource dispatches no event, but stores its id.
  func heartbeat(counter: UInt64, streams: Int) -> [UInt8] { Array("\(fields(counter, streams))\n".utf8) }

  /// The counter in an id of this run; nil for any other text.
  func counter(of id: String) -> UInt64? {
    guard let dash = id.lastIndex(of: "-"), id[..<dash] == run else { return nil }
    return UInt64(id[id.index(after: dash)...])
  }

  private func fields(_ counter: UInt64, _ streams: Int) -> String {
    "retry: \(Self.retryMilliseconds(streams: streams))\nid: \(run)-\(counter)\n"
  }

  /// The `retry` value. It spreads the reconnects of all streams to 200 a second.
  static func retryMilliseconds(streams: Int) -> Int { max(2000, 5 * streams) }
}
