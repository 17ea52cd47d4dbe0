/// A point in one zone's history: the epoch of the server's history, and a seq. Opaque to clients.
package struct ChangeToken: Hashable, Sendable {
  /// The identity of the server's history: 8 hex digits.
  package let epoch: String
  /// The seq up to which changes were received.
  package let seq: Int64
  /// In an unfinished download: the zone's purge horizon at its start, if beyond `seq`, otherwise -1. The copy has no tombstones up to that
  /// horizon. It is 0 when everything up to `seq` was received.
  package let purged: Int64

  /// A token of its parts.
  ///
  /// - Parameters:
  ///   - epoch: the identity of the server's history.
  ///   - seq: the zone's number up to which the reader has the changes.
  ///   - purged: the purge horizon that the reader has seen.
  ///   - isUnfinished: whether more was to come.
  package init(epoch: String, seq: Int64, purged: Int64 = 0, isUnfinished: Bool = false) {
    self.epoch = epoch
    self.seq = seq
    self.purged = purged > seq ? purged : isUnfinished ? -1 : 0
  }

  /// Parses a token; nil for an invalid text. The empty text is the beginning of a zone, and no token.
  package init?(_ text: String) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard (2...3).contains(parts.count), parts[0].utf8.count == 8,
      parts[0].utf8.allSatisfy({ Hexadecimal.value($0) != nil }),
      let seq = Int64(parts[1]), seq >= 0, let purged = parts.count == 3 ? Int64(parts[2]) : 0
    else { return nil }
    self.init(epoch: String(parts[0]), seq: seq, purged: purged, isUnfinished: purged < 0)
    if self.text != text { return nil }
  }

  /// The token as it is on the wire.
  package var text: String { purged != 0 ? "\(epoch).\(seq).\(purged)" : "\(epoch).\(seq)" }
}
