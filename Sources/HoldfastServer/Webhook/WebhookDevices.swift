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
      let (found, isWhole) = try rows(of: audience)
      last = isWhole ? 0 : found.last?.device ?? last
      if isWhole { audiences.removeFirst() }
      var devices: [PushTarget] = []
      // A device that follows several zones is found several times, in a row.
      for target in found where isNotified(target) && devices.last?.device != target.device {
        devices.append(target)
      }
      if !devices.isEmpty { return devices }
    }
    return []
  }

  /// The next rows of an audience, all of each device; whether they are the last.
  private func rows(of audience: PushAudience) throws -> (rows: [PushTarget], isWhole: Bool) {
    var room = max(limit, 1)
    while true {
      let found = try find(audience, last, room)
      if found.count < room { return (found, true) }
      // Of the last device some rows may be cut off: it is found again.
      let whole = found.filter { $0.device != found.last?.device }
      if !whole.isEmpty { return (whole, false) }
      room *= 2
    }
  }

  private func isNotified(_ target: PushTarget) -> Bool {
    let isNotifiedAsMember = authorOfUser[target.user].map { $0 != target.device } ?? false
    guard let zone = target.zone else { return isNotifiedAsMember }
    return !isNotifiedAsMember && authorOfZone[zone] != target.device
  }
}
