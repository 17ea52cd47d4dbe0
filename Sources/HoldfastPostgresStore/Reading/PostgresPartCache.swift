import HoldfastCore
import HoldfastService
import Synchronization

/// Parts of zones, as they were written last: what is written to one zone is read by all of its devices.
///
/// A part stands for one state of its zone. Each change of a zone takes the next seq under the zone's lock, so the changes after a seq are the same
/// as long as the epoch, the zone's seq and up to where it was purged are the same. A reader compares these with what it has read, in the
/// moment of its answer.
final class PostgresPartCache: Sendable {
  /// A part, and what of it was written.
  struct Part: Sendable {
    let bytes: [UInt8]
    let written: WrittenChanges
    fileprivate let state: State
  }

  fileprivate struct State: Equatable {
    let epoch: String
    let seq: Int64
    let purged: Int64
  }

  private struct Key: Hashable {
    let zone: TextKey
    let after: Int64
    let count: Int64
  }

  /// Those that were asked for lately, and those of before.
  private struct Contents {
    var young: [Key: Part] = [:]
    var old: [Key: Part] = [:]
    /// The size of the young ones.
    var size = 0

    mutating func put(_ part: Part, _ key: Key) {
      if size > PostgresPartCache.limit / 2 {
        (old, young, size) = (young, [:], 0)
      }
      size += part.bytes.count + 200
      young[key] = part
    }
  }

  /// How many bytes are kept.
  private static let limit = 64 << 20

  private let contents = Mutex(Contents())

  /// What stands behind the ack of a zone, where that is known.
  ///
  /// - Parameter count: how many changes at the most.
  subscript(zone: ZoneProgress, count: Int64, epoch: String) -> Part? {
    let key = Key(zone: TextKey(zone.zone), after: zone.ack.seq, count: count)
    let state = State(epoch: epoch, seq: zone.seq, purged: zone.purged)
    return contents.withLock { contents in
      if let part = contents.young[key] { return part.state == state ? part : nil }
      guard let part = contents.old[key], part.state == state else { return nil }
      contents.put(part, key)
      return part
    }
  }

  /// Keeps a part.
  func put(
    _ bytes: [UInt8], _ written: WrittenChanges, of zone: ZoneProgress, _ count: Int64, _ epoch: String
  ) {
    if bytes.count > Self.limit / 16 { return }
    let key = Key(zone: TextKey(zone.zone), after: zone.ack.seq, count: count)
    let state = State(epoch: epoch, seq: zone.seq, purged: zone.purged)
    contents.withLock { $0.put(Part(bytes: bytes, written: written, state: state), key) }
  }
}
