import HoldfastCore

/// The name of a backup in a store: `holdfast-TIME-EPOCH.backup`. The order of the names of one epoch is the order of time.
struct BackupName {
  let text: String
  /// The epoch of the database, which no other database has; empty in a name of an earlier release.
  let epoch: String

  private static let (head, end) = ("holdfast-", ".backup")
  /// The length of a time in bytes.
  private static let timeLength = 24

  /// Names a new backup.
  init(at milliseconds: Int64, epoch: String) {
    let time = Timestamp.text(milliseconds: milliseconds).replacing(":", with: "-")
    (text, self.epoch) = ("\(Self.head)\(time)-\(epoch)\(Self.end)", epoch)
  }

  /// Parses a name; nil for any other text.
  init?(_ text: String) {
    guard text.hasPrefix(Self.head), text.hasSuffix(Self.end) else { return nil }
    let parts = text.utf8.dropFirst(Self.head.utf8.count).dropLast(Self.end.utf8.count)
    let (time, epoch) = (parts.prefix(Self.timeLength), parts.dropFirst(Self.timeLength))
    let isDigit = { (byte: UInt8) in (0x30...0x39).contains(byte) }
    guard time.count == Self.timeLength, time.last == UInt8(ascii: "Z"),
      time.dropLast().allSatisfy({ isDigit($0) || "-.T".utf8.contains($0) }),
      epoch.isEmpty || epoch.count == 9 && epoch.first == UInt8(ascii: "-"),
      epoch.dropFirst().allSatisfy({ isDigit($0) || (0x61...0x66).contains($0) })
    else { return nil }
    (self.text, self.epoch) = (text, String(decoding: epoch.dropFirst(), as: UTF8.self))
  }
}
