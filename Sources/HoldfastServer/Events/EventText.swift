import HoldfastCore
import HoldfastService

/// Events as they are on the wire: PROTOCOL.md, section 3.1. Source: the HTML standard, section 9.2.5.
struct EventText: Sendable {
  /// Names this run of the server, as its counter resyncs with each.
  let run: String
  let heartbeatMilliseconds: Int64

  /// - Parameter run: letters and digits.
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

  /// Names zones that moved; none stands for any.
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

  /// The last event of a stream whose device has opened another one.
  static let replaced = Array("event: replaced\ndata: {}\n\n".utf8)

  /// Without data, so that it is no event to an EventSource; its id counts all the same.
  func heartbeat(counter: UInt64, streams: Int) -> [UInt8] { Array("\(fields(counter, streams))\n".utf8) }

  /// The counter of an id of this run; nil for any other text.
  func counter(of id: String) -> UInt64? {
    guard let dash = id.lastIndex(of: "-"), id[..<dash] == run else { return nil }
    return UInt64(id[id.index(after: dash)...])
  }

  private func fields(_ counter: UInt64, _ streams: Int) -> String {
    "retry: \(Self.retryMilliseconds(streams: streams))\nid: \(run)-\(counter)\n"
  }

  /// In what time devices are to come back that all lost their stream at once: so that 200 come in a second.
  static func retryMilliseconds(streams: Int) -> Int { max(2000, 5 * streams) }
}
