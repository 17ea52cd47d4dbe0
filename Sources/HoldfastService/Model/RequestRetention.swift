/// How long the answers to a device's requests are kept.
package enum RequestRetention {
  /// For how many milliseconds.
  package static let time: Int64 = 86_400_000
  /// How many.
  package static let count: Int64 = 1000
  /// How many bytes of them.
  package static let size: Int64 = 16 << 20
  /// How many are purged at the most when another is added, so that none waits long.
  package static let step = 64

  /// An answer among those of its device.
  package struct Entry {
    /// Counts the answers of the device.
    package let number: Int64
    package let at: Int64
    /// The size of all answers before it, purged ones too.
    package let before: Int64

    package init(number: Int64, at: Int64, before: Int64) {
      (self.number, self.at, self.before) = (number, at, before)
    }
  }

  /// Whether an answer of some time is still to be given at another; both in milliseconds since 1970.
  static func isKept(_ at: Int64, now: Int64) -> Bool { at > now - time }

  /// The number up to which answers need not be kept when one more is added; nil for none.
  ///
  /// - Parameters:
  ///   - oldest: the oldest, in order.
  ///   - number: of the one that is added.
  ///   - total: the size of all, with it.
  package static func expired(_ oldest: [Entry], number: Int64, total: Int64, now: Int64) -> Int64? {
    oldest.prefix { entry in
      entry.number <= number - count || entry.before < total - size || !isKept(entry.at, now: now)
    }.last?.number
  }
}
