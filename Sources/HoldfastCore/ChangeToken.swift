/// A point in one zone's history: the epoch of the server's history, and a seq. Opaque to clients.
public struct ChangeToken: Hashable, Sendable {
  /// The identity of the server's history: 8 hex digits.
  public let epoch: String
  /// The seq up to which changes are known.
  public let seq: Int64

  /// A token of its parts.
  public init(epoch: String, seq: Int64) {
    self.epoch = epoch
    self.seq = seq
  }

  /// Reads a token; nil when the text never was one. The empty text is the beginning of a zone and has no token.
  public init?(_ text: String) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].utf8.count == 8,
      parts[0].utf8.allSatisfy({ Hexadecimal.value($0) != nil }),
      let seq = Int64(parts[1]), seq >= 0, String(seq) == parts[1]
    else { return nil }
    self.init(epoch: String(parts[0]), seq: seq)
  }

  /// The text of the wire.
  public var text: String { "\(epoch).\(seq)" }
}
