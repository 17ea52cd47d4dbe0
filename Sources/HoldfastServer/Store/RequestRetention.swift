/// How long the answers to a device's requests are kept.
enum RequestRetention {
  /// For how many milliseconds.
  static let time: Int64 = 86_400_000
  /// How many.
  static let count: Int64 = 1000
  /// How many bytes of them.
  static let size: Int64 = 16 << 20
  /// How many are purged at the most when another is added, so that none waits long.
  static let step = 64

  /// An answer among those of its device.
  struct Entry {
    /// Counts the answers of the device.
    let number: Int64
    let at: Int64
    /// The size of all answers before it, purged ones too.
    let before: Int64
  }

  /// Whether an answer of some time is still to be given at another; both in milliseconds since 1970.
  static func isKept(_ at: Int64, now: Int64) -> Bool { at > now - time }

  /// The number up to which answers need not be kept when one more is added; nil for none.
  ///
  /// - Parameters:
  ///   - oldest: the oldest, in order.
  ///   - number: of the one that is added.
  ///   - total: the size of all, with it.
  static func expired(_ oldest: [Entry], number: Int64, total: Int64, now: Int64) -> Int64? {
    oldest.prefix { entry in
      entry.number <= number - count || entry.before < total - size || !isKept(entry.at, now: now)
    }.last?.number
  }
}
