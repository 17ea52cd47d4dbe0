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

  /// Oldest first.
  public private(set) var entries: [Entry] = []

  /// None.
  public init() {}

  /// All that took effect behind this number are there.
  public var completeFrom: Int64 { entries.count < Self.limit ? 0 : entries[0].last }

  /// Adds the next one, and forgets the oldest when there are too many.
  public mutating func add(_ entry: Entry) {
    if entries.count == Self.limit { entries.removeFirst() }
    entries.append(entry)
  }

  // MARK: The form that is kept: 16 bytes an entry

  /// Reads what `bytes` gave; what is cut is left out.
  public init(bytes: [UInt8]) {
    let words = stride(from: 0, to: bytes.count - bytes.count % 16, by: 8).map { start in
      bytes[start..<start + 8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    }
    for index in stride(from: 0, to: words.count, by: 2) {
      add(Entry(last: Int64(bitPattern: words[index]), chain: Fingerprint(value: words[index + 1])))
    }
  }

  /// As the server keeps it.
  public var bytes: [UInt8] {
    entries.flatMap { entry in
      [UInt64(bitPattern: entry.last), entry.chain.value].flatMap { word in
        (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * $0)) }
      }
    }
  }

  // MARK: The form of the wire

  /// Reads the member `applied` of a session; nil when it has another form.
  public init?(json: JSONValue) {
    guard let from = json["from"]?.integerValue, let sets = json["sets"]?.elements, sets.count <= Self.limit
    else { return nil }
    for set in sets {
      guard let parts = set.elements, parts.count == 2, let last = parts[0].integerValue,
        let chain = parts[1].stringValue.flatMap(Fingerprint.init)
      else { return nil }
      entries.append(Entry(last: last, chain: chain))
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
