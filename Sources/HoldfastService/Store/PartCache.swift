import HoldfastCore
import HoldfastSystem

/// A cache of parts of zones as JSON: all devices of a zone download the same changes.
///
/// A part is valid for one state of its zone. Each change of a zone takes the next seq under the zone's lock. So the changes after a seq are the
/// same while the epoch, the zone's seq and its purge horizon are the same. A reader compares these with the values in its own snapshot.
package final class PartCache: Sendable {
  /// A part, and which changes it contains.
  package struct Part: Sendable {
    package let bytes: [UInt8]
    package let written: WrittenChanges
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

  /// Recently used parts, and the generation before. A used old part becomes young again.
  private struct Contents {
    var young: [Key: Part] = [:]
    var old: [Key: Part] = [:]
    /// The size of the young parts, in bytes.
    var size = 0
    /// The states of the large parts that were asked for once.
    var askedOnce: [Key: State] = [:]

    mutating func put(_ part: Part, _ key: Key) {
      if size > PartCache.limit / 2 {
        (old, young, size) = (young, [:], 0)
      }
      size += part.bytes.count + 200
      young[key] = part
    }
  }

  /// The maximum size, in bytes.
  private static let limit = 64 << 20
  /// A part of more bytes is a large one.
  private static let smallSize = 64 << 10
  /// How many large parts it remembers that were asked for once.
  private static let askedLimit = 4096

  private let contents = Locked(Contents())

  package init() {}

  /// The part after the ack of a zone; nil if it is not in the cache.
  ///
  /// - Parameter count: the maximum number of changes.
  package subscript(zone: ZoneProgress, count: Int64, epoch: String) -> Part? {
    let (key, state) = Self.place(of: zone, count, epoch)
    return contents.withLock { contents in
      if let part = contents.young[key] { return part.state == state ? part : nil }
      guard let part = contents.old[key], part.state == state else { return nil }
      contents.put(part, key)
      return part
    }
  }

  /// Whether a part is to be kept. Most large parts are of the first download of one device: they are kept from the second time on that
  /// they are asked for.
  ///
  /// - Parameter size: the part's, in bytes.
  package func wants(_ size: Int, of zone: ZoneProgress, _ count: Int64, _ epoch: String) -> Bool {
    if size <= Self.smallSize { return true }
    if size > Self.limit / 16 { return false }
    let (key, state) = Self.place(of: zone, count, epoch)
    return contents.withLock { contents in
      if contents.askedOnce[key] == state { return true }
      if contents.askedOnce.count >= Self.askedLimit { contents.askedOnce = [:] }
      contents.askedOnce[key] = state
      return false
    }
  }

  /// Adds a part.
  package func put(
    _ bytes: [UInt8], _ written: WrittenChanges, of zone: ZoneProgress, _ count: Int64, _ epoch: String
  ) {
    let (key, state) = Self.place(of: zone, count, epoch)
    contents.withLock { $0.put(Part(bytes: bytes, written: written, state: state), key) }
  }

  private static func place(of zone: ZoneProgress, _ count: Int64, _ epoch: String) -> (Key, State) {
    (
      Key(zone: TextKey(zone.zone), after: zone.ack.seq, count: count),
      State(epoch: epoch, seq: zone.seq, purged: zone.purged)
    )
  }
}
