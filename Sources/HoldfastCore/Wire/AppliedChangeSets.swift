/// The last change sets of a device that took effect, by their last number and the chain up to there: a copy of the device finds in it
/// what it needs not send again. See PROTOCOL.md, section 7.
public struct AppliedChangeSets: Hashable, Sendable {
  /// A change set that took effect.
  public struct Entry: Hashable, Sendable {
    /// The number of its last operation.
    public let last: Int64
    /// The fingerprint of all that the device sent up to there.
    public let chain: Fingerprint

    /// An entry of its parts.
    public init(last: Int64, chain: Fingerprint) {
      self.last = last
      self.chain = chain
    }
  }

  /// How many are remembered.
  public static let limit = 64

  private static let size = 16

  /// As the server keeps it, oldest first: 16 bytes an entry, number and chain, the greater bytes first. What every request writes is not read for
  /// it.
  public private(set) var bytes: [UInt8]

  /// None, or those that `bytes` gave; what is cut is left out.
  public init(bytes: [UInt8] = []) {
    let whole = bytes.count - bytes.count % Self.size
    self.bytes = Array(bytes[max(0, whole - Self.limit * Self.size)..<whole])
  }

  /// Adds the next one, and forgets the oldest when there are too many.
  public mutating func add(_ entry: Entry) {
    if bytes.count == Self.limit * Self.size { bytes.removeFirst(Self.size) }
    withUnsafeBytes(of: entry.last.bigEndian) { bytes += $0 }
    withUnsafeBytes(of: entry.chain.value.bigEndian) { bytes += $0 }
  }

  /// Oldest first.
  public var entries: [Entry] {
    func word(_ start: Int) -> UInt64 { bytes[start..<start + 8].reduce(0) { $0 << 8 | UInt64($1) } }
    return stride(from: 0, to: bytes.count, by: Self.size).map { start in
      Entry(last: Int64(bitPattern: word(start)), chain: Fingerprint(value: word(start + 8)))
    }
  }

  /// All that took effect behind this number are there.
  public var completeFrom: Int64 {
    bytes.count < Self.limit * Self.size ? 0 : entries.first?.last ?? 0
  }

  // MARK: The form of the wire

  /// Reads the member `applied` of a session; nil when it has another form.
  public init?(json: JSONValue) {
    guard let from = json["from"]?.integerValue, let sets = json["sets"]?.elements, sets.count <= Self.limit
    else { return nil }
    self.init()
    for set in sets {
      guard let parts = set.elements, parts.count == 2, let last = parts[0].integerValue,
        let chain = parts[1].stringValue.flatMap(Fingerprint.init)
      else { return nil }
      add(Entry(last: last, chain: chain))
    }
    if from != completeFrom { return nil }
  }

  /// As it stands in a session.
  public var json: JSONValue {
    [
      "from": .integer(completeFrom),
      "sets": .array(entries.map { [.integer($0.last), .string($0.chain.text)] }),
    ]
  }
}
