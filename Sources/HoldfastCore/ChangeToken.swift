/// A point in one zone's history: the epoch of the server's history, and a seq. Opaque to clients.
public struct ChangeToken: Hashable, Sendable {
  /// The identity of the server's history: 8 hex digits.
  public let epoch: String
  /// The seq up to which changes are known.
  public let seq: Int64
  /// In the middle of a download: of a copy from the zone's beginning up to where the zone was purged when that copy began, as it has nothing of
  /// what was deleted up to there; -1 where that is not beyond `seq`. 0 where all up to `seq` has come.
  public let purged: Int64

  /// A token of its parts.
  ///
  /// - Parameters:
  ///   - epoch: the identity of the server's history.
  ///   - seq: the zone's number up to which the reader has the changes.
  ///   - purged: the purge horizon that the reader has seen.
  ///   - isUnfinished: whether more was to come.
  public init(epoch: String, seq: Int64, purged: Int64 = 0, isUnfinished: Bool = false) {
    self.epoch = epoch
    self.seq = seq
    self.purged = purged > seq ? purged : isUnfinished ? -1 : 0
  }

  /// Reads a token; nil when the text never was one. The empty text is the beginning of a zone and has no token.
  public init?(_ text: String) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard (2...3).contains(parts.count), parts[0].utf8.count == 8,
      parts[0].utf8.allSatisfy({ Hexadecimal.value($0) != nil }),
      let seq = Int64(parts[1]), seq >= 0, let purged = parts.count == 3 ? Int64(parts[2]) : 0
    else { return nil }
    self.init(epoch: String(parts[0]), seq: seq, purged: purged, isUnfinished: purged < 0)
    if self.text != text { return nil }
  }

  /// The text of the wire.
  public var text: String { purged != 0 ? "\(epoch).\(seq).\(purged)" : "\(epoch).\(seq)" }
}
