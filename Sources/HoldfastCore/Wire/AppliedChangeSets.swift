/// A device's last applied and refused change sets, by last number and chain. A copy of the device finds in it the change sets that it must
/// not send again. See PROTOCOL.md, section 7.
package struct AppliedChangeSets: Hashable, Sendable {
  /// An applied or refused change set.
  package struct Entry: Hashable, Sendable {
    /// The number of its last operation.
    package let last: Int64
    /// The chain fingerprint of everything that the device sent up to there.
    package let chain: Fingerprint

    /// Creates an entry.
    package init(last: Int64, chain: Fingerprint) {
      self.last = last
      self.chain = chain
    }
  }

  /// The maximum number of entries.
  package static let limit = 64

  private static let size = 16

  /// The form that the server stores, oldest first: 16 bytes for each entry, number and chain, big-endian. The number of a refused change
  /// set is negative. The form is appendable, so a request need not parse it.
  package private(set) var bytes: [UInt8]

  /// Restores stored entries. Truncated ones are left out.
  package init(bytes: [UInt8] = []) {
    let whole = bytes.count - bytes.count % Self.size
    self.bytes = Array(bytes[max(0, whole - Self.limit * Self.size)..<whole])
  }

  /// Adds the next entry, and drops the oldest beyond the limit.
  package mutating func add(_ entry: Entry, isRefused: Bool = false) {
    if bytes.count == Self.limit * Self.size { bytes.removeFirst(Self.size) }
    let number = isRefused ? -entry.last : entry.last
    withUnsafeBytes(of: number.bigEndian) { bytes += $0 }
    withUnsafeBytes(of: entry.chain.value.bigEndian) { bytes += $0 }
  }

  /// The applied change sets, oldest first.
  package var entries: [Entry] { all.filter { $0.last > 0 } }

  /// The refused change sets, oldest first.
  package var refused: [Entry] { all.filter { $0.last < 0 }.map { Entry(last: -$0.last, chain: $0.chain) } }

  /// The number after which the list is complete.
  package var completeFrom: Int64 {
    bytes.count < Self.limit * Self.size ? 0 : all.first.map { abs($0.last) } ?? 0
  }

  private var all: [Entry] {
    func word(_ start: Int) -> UInt64 { bytes[start..<start + 8].reduce(0) { $0 << 8 | UInt64($1) } }
    return stride(from: 0, to: bytes.count, by: Self.size).map { start in
      Entry(last: Int64(bitPattern: word(start)), chain: Fingerprint(value: word(start + 8)))
    }
  }

  // MARK: Wire format

  /// Parses the member `applied` of a session; nil if invalid.
  package init?(json: JSONValue) {
    guard let from = json["from"]?.integerValue, let applied = Self.entries(json["sets"]),
      let refused = Self.entries(json["refused"] ?? []), applied.count + refused.count <= Self.limit
    else { return nil }
    self.init()
    let all = applied.map { ($0, false) } + refused.map { ($0, true) }
    for (entry, isRefused) in all.sorted(by: { $0.0.last < $1.0.last }) { add(entry, isRefused: isRefused) }
    if from != completeFrom { return nil }
  }

  private static func entries(_ json: JSONValue?) -> [Entry]? {
    guard let sets = json?.elements else { return nil }
    let entries = sets.compactMap { set -> Entry? in
      guard let parts = set.elements, parts.count == 2, let last = parts[0].integerValue, last > 0,
        let chain = parts[1].stringValue.flatMap(Fingerprint.init)
      else { return nil }
      return Entry(last: last, chain: chain)
    }
    return entries.count == sets.count ? entries : nil
  }

  /// The form in a session.
  package var json: JSONValue {
    func list(_ entries: [Entry]) -> JSONValue {
      .array(entries.map { [.integer($0.last), .string($0.chain.text)] })
    }
    return ["from": .integer(completeFrom), "sets": list(entries), "refused": list(refused)]
  }
}
