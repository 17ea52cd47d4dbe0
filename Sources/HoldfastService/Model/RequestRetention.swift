/// The limits of the stored answers to a device's requests.
package enum RequestRetention {
  /// The maximum age in milliseconds.
  package static let time: Int64 = 86_400_000
  /// The maximum number.
  package static let count: Int64 = 1000
  /// The maximum total size in bytes.
  package static let size: Int64 = 16 << 20
  /// The maximum number that one addition purges, so that no request takes long.
  package static let step = 64

  /// A stored answer.
  package struct Entry {
    /// A running number per device.
    package let number: Int64
    package let at: Int64
    /// The total size of the device's earlier answers, including purged ones.
    package let before: Int64

    package init(number: Int64, at: Int64, before: Int64) {
      (self.number, self.at, self.before) = (number, at, before)
    }
  }

  /// Whether an answer of time `at` is still valid; both in milliseconds since 1970.
  static func isKept(_ at: Int64, now: Int64) -> Bool { at > now - time }

  /// The number up to which answers are purged when one more is added; nil for none.
  ///
  /// - Parameters:
  ///   - oldest: the oldest answers, in order.
  ///   - number: the number of the added answer.
  ///   - total: the size of all answers, including the added one.
  package static func expired(_ oldest: [Entry], number: Int64, total: Int64, now: Int64) -> Int64? {
    oldest.prefix { entry in
      entry.number <= number - count || entry.before < total - size || !isKept(entry.at, now: now)
    }.last?.number
  }
}
