import HoldfastCore
import HoldfastService

/// The devices that a webhook call names, in batches: docs/PUSH.md, section on push tokens.
struct WebhookDevices {
  /// Finds devices with greater numbers than `number`; at most `limit`.
  typealias Find = (_ audience: PushAudience, _ number: Int64, _ limit: Int) throws -> [PushTarget]

  /// The devices that alone wrote the changes of all named zones of a user, and of a public zone.
  private let authorOfUser: TextMap<Int64>
  private let authorOfZone: TextMap<Int64>
  private let limit: Int
  private let find: Find
  private var audiences: [PushAudience]
  private var last: Int64 = 0

  /// - Parameter authors: the device that wrote all changes of a zone since it was last named; none for several devices, or if unknown.
  init(_ zones: [UnnotifiedZone], authors: TextMap<Int64>, limit: Int, find: @escaping Find) {
    var (ofUser, ofZone): (TextMap<Int64>, TextMap<Int64>) = ([:], [:])
    for zone in zones {
      let author = authors[zone.zone] ?? 0
      for user in zone.users { ofUser[user] = ofUser[user].map { $0 == author ? author : 0 } ?? author }
      if zone.isPublic { ofZone[zone.zone] = author }
    }
    (authorOfUser, authorOfZone, self.limit, self.find) = (ofUser, ofZone, limit, find)
    audiences = ofUser.isEmpty ? [] : [.users(ofUser.keys.sorted())]
    if !ofZone.isEmpty { audiences.append(.followers(ofZone.keys.sorted())) }
  }

  /// The next batch; empty if there are no more devices.
  mutating func next() throws -> [PushTarget] {
    while let audience = audiences.first {
      let found = try find(audience, last, limit)
      last = found.last?.device ?? last
      if found.count < limit {
        audiences.removeFirst()
        last = 0
      }
      var devices: [PushTarget] = []
      // A device that follows several zones is found several times, in a row.
      for target in found where isNotified(target) && devices.last?.device != target.device {
        devices.append(target)
      }
      if !devices.isEmpty { return devices }
    }
    return []
  }

  private func isNotified(_ target: PushTarget) -> Bool {
    let isNotifiedAsMember = authorOfUser[target.user].map { $0 != target.device } ?? false
    guard let zone = target.zone else { return isNotifiedAsMember }
    return !isNotifiedAsMember && authorOfZone[zone] != target.device
  }
}
