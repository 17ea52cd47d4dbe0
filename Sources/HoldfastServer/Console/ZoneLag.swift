import HoldfastCore
import HoldfastService

/// How far a device is in one zone, and why.
struct ZoneLag {
  enum State: String {
    case current, behind, beginning, resync
    case noAccess = "no access"
    case unknown
  }

  let state: State
  /// The number of seqs that the device has not acked: an upper bound of the changes that it lacks.
  let changes: Int64
  /// The reason in words, which follow "The device ".
  let reason: String

  /// - Parameters:
  ///   - zone: nil if the database has no such zone.
  ///   - ack: nil without one.
  ///   - role: the role of the device's user; nil without access.
  ///   - epoch: the current one.
  init(_ zone: ConsoleZone?, _ ack: ConsoleAck?, role: String?, epoch: String) {
    guard let zone else {
      (state, changes) = (.unknown, 0)
      reason = "has a zone that the database does not know: it was lost by a restore, or it awaits recovery"
      return
    }
    let acked = ack.map { $0.epoch == epoch && !$0.isLost ? $0.seq : 0 } ?? 0
    changes = max(0, zone.seq - acked)
    let known = max(ack?.seq ?? 0, ack?.purged ?? 0)
    (state, reason) =
      if role == nil, !zone.isPublic {
        (.noAccess, "belongs to a user who may not read the zone")
      } else if let ack, ack.isLost {
        (.resync, "must resync the zone: its user lost it for a while, or an operator reset the device")
      } else if ack?.epoch.isEmpty ?? true {
        (
          .beginning,
          ack == nil
            ? "has not acknowledged anything of the zone: it has not synced since its user got it, or its app does not follow it"
            : "begins the zone again: it has not acknowledged its download yet"
        )
      } else if let ack, ack.epoch != epoch {
        (.resync, "must resync the zone: it has it from epoch \(ack.epoch), before a restore")
      } else if known < zone.purged {
        (
          .resync,
          "must resync the zone: it has it up to \(known), and deletions up to \(zone.purged) are purged"
        )
      } else if known > zone.seq {
        (.resync, "must resync the zone: it has it up to \(known), which the database does not know")
      } else if acked < zone.seq {
        (.behind, "has the zone up to \(acked) of \(zone.seq)")
      } else {
        (.current, "has all of the zone")
      }
  }

  var json: JSONValue {
    [
      "state": .string(state.rawValue), "changes": .integer(changes),
      "reason": .string("The device \(reason)."),
    ]
  }
}
