import HoldfastCore

/// What a transaction changed, as servers on one database tell each other with NOTIFY.
///
/// A payload is words: first the server that says it (`0` for a trigger), then for each zone its name, and behind `=` the device that alone
/// wrote it where that is known; `@` and a user; `#` and a device. `*` says: look at everything.
extension Moves {
  /// PostgreSQL takes less than 8,000 bytes in one notification.
  private static let payloadLimit = 7800
  private static let payloadCountLimit = 32

  /// The payloads that say it; none when there is nothing to say.
  func payloads(from node: String) -> [String] {
    var words = zones.map { zone, device in device.map { "\(zone)=\($0)" } ?? zone }
    words += users.map { "@" + $0 }
    words += devices.map { "#\($0)" }
    var payloads: [String] = []
    var payload = ""
    for word in words {
      if payload.utf8.count + word.utf8.count > Self.payloadLimit {
        payloads.append(payload)
        payload = ""
      }
      payload += (payload.isEmpty ? node : "") + " " + word
    }
    if !payload.isEmpty { payloads.append(payload) }
    return payloads.count > Self.payloadCountLimit ? ["\(node) *"] : payloads
  }

  /// Reads a payload; nil for one that says to look at everything, or that nobody here can read.
  init?(payload: String) {
    self.init()
    let words = payload.split(separator: " ")
    if words.isEmpty { return nil }
    for word in words.dropFirst() {
      switch word.utf8.first {
      case UInt8(ascii: "*"): return nil
      case UInt8(ascii: "@"): users.insert(String(word.dropFirst()))
      case UInt8(ascii: "#"):
        guard let device = Int64(word.dropFirst()) else { return nil }
        devices.insert(device)
      default:
        let parts = word.split(separator: "=", maxSplits: 1)
        add(zone: String(parts[0]), by: parts.count > 1 ? Int64(parts[1]) : nil)
      }
    }
  }
}
