import HoldfastCore
import HoldfastService
import HoldfastSystem

/// The devices with their zones as the last transaction of the fast lane has left them: answers to its writes need no look-up.
/// docs/POSTGRES.md, section 5.
///
/// A reader adds what it has read from a snapshot in which that transaction is the last one. The lane brings it forward with each transaction
/// in which nobody else has written.
package final class CommittedDevices: Sendable {
  /// The maximum number of rows: devices with their zones, about 250 bytes each; and of zones of one device.
  private static let (limit, zoneLimit) = (100_000, 64)

  fileprivate struct Contents {
    /// The number after that of the lane's last transaction; nil if others may have written since.
    var next: Int64?
    var history: History?
    var devices: [TokenHash: PostgresFindings.Found] = [:]
    /// How many rows `devices` has at most.
    var count = 0
    var tokens: [Int64: TokenHash] = [:]
    /// The seqs of zones that have moved; those of the devices may be older.
    var seqs: TextMap<Int64> = [:]

    mutating func removeDevices() { (devices, tokens, count) = ([:], [:], 0) }

    mutating func remove(_ number: Int64) {
      if let token = tokens.removeValue(forKey: number) { devices[token] = nil }
    }
  }

  private let contents = Locked(Contents())

  /// Forgets everything. Also called for each new connection: a database that has crashed or was put back gives numbers out again, and has
  /// ended all of them.
  func removeAll() { contents.withLock { $0 = Contents() } }

  /// Adds what was read from a snapshot, if the lane's last transaction is the last one in it.
  func learn(_ found: [TokenHash: PostgresFindings.Found], snapshot: String, _ history: History) {
    contents.withLock { contents in
      guard let next = contents.next, contents.history?.epoch == history.epoch,
        snapshot.hasPrefix("\(next):\(next): ")
      else { return }
      if contents.count > Self.limit { contents.removeDevices() }
      for (token, found) in found {
        guard let device = found.device, found.zones.count <= Self.zoneLimit, found.refusals.isEmpty else {
          continue
        }
        // What is brought forward is of no snapshot any more.
        var kept = found
        (kept.waiting, kept.snapshot) = ([], "")
        if contents.devices.updateValue(kept, forKey: token) == nil { contents.count += 1 + kept.zones.count }
        contents.tokens[device.key.number] = token
      }
    }
  }

  /// The devices of look-ups, for answers to writes that are certainly in it; and the history. Of a token that also asks for anything else
  /// there is none: that request began later, and its sender may have seen what others have written since.
  func devices(for lookUps: [LookUp]) -> (found: [TokenHash: PostgresFindings.Found], history: History)? {
    if !lookUps.contains(where: { $0.written != nil }) { return nil }
    return contents.withLock { contents in
      guard let next = contents.next, let history = contents.history else { return nil }
      let others = Set(lookUps.filter { $0.written.map { $0 >= next } ?? true }.map(\.token))
      var all: [TokenHash: PostgresFindings.Found] = [:]
      for token in Set(lookUps.map(\.token)).subtracting(others) {
        guard var found = contents.devices[token] else { continue }
        for index in found.zones.indices {
          if let seq = contents.seqs[found.zones[index].zone] {
            found.zones[index].seq = max(found.zones[index].seq, seq)
          }
        }
        found.waiting = ZoneProgress.waiting(found.zones, epoch: history.epoch)
        all[token] = found
      }
      return all.isEmpty ? nil : (all, history)
    }
  }

  /// Notes that the lane's transaction with a number was committed, before which nobody else has written since the one before.
  ///
  /// - Parameter delta: all that it has written.
  func commit(_ delta: Delta, _ number: Int64, _ history: History) {
    contents.withLock { contents in
      let isEveryones = !delta.roles.isEmpty || !delta.losses.isEmpty || !delta.newZones.isEmpty
      if contents.next != number || contents.history?.epoch != history.epoch || isEveryones {
        contents = Contents()
      }
      (contents.next, contents.history) = (number + 1, history)
      let others =
        delta.purgedRefusals.map(\.device) + delta.refusals.map(\.device) + delta.clearedAcks
      for number in others { contents.remove(number) }
      for moved in delta.movedDevices { contents.move(moved) }
      for new in delta.acks { contents.put(new) }
      if contents.seqs.count > Self.limit {
        contents.seqs = [:]
        contents.removeDevices()
      }
      for moved in delta.movedZones { contents.seqs[moved.zone] = moved.seq }
    }
  }
}

extension CommittedDevices.Contents {
  fileprivate mutating func move(_ moved: MovedDevice) {
    guard let token = tokens[moved.number], let device = devices[token]?.device else { return }
    devices[token]?.device = device.moved(moved)
  }

  fileprivate mutating func put(_ new: NewAck) {
    guard let token = tokens[new.key.device] else { return }
    guard let ack = new.ack, !new.isDoubted,
      let index = devices[token]?.zones.firstIndex(where: { $0.zone == new.key.zone }),
      let zone = devices[token]?.zones[index], !zone.wasLost
    else { return remove(new.key.device) }
    devices[token]?.zones[index] = ZoneProgress(
      zone: zone.zone, ack: ack, isStored: true, seq: zone.seq, purged: zone.purged, role: zone.role,
      wasLost: false)
  }
}
