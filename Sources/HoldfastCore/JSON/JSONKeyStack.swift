/// The keys of the objects that are open at the moment, to notice one that comes twice.
///
/// An object's first 64 keys are compared one by one through a 64-bit signature: for the small objects of
/// the wire that is the fastest. Beyond them a seeded hash set takes over, so that n keys cost O(n)
/// and an attacker can't choose keys that collide.
struct JSONKeyStack: ~Copyable {
  /// One open object: where its keys begin on the stack, and its set once they are many.
  struct Frame {
    let start: Int
    var many: Set<JSONKey>?
  }

  static let linearLimit = 64

  private struct Entry {
    let signature: UInt64
    let key: JSONKey
  }

  private var entries: UnsafeMutablePointer<Entry>
  private var capacity = 32
  private var count = 0
  /// Keys that had escapes, unescaped: they live as long as the reader, since a key points into them.
  private var unescaped: [UnsafeMutablePointer<UInt8>] = []

  init() {
    entries = .allocate(capacity: capacity)
  }

  deinit {
    entries.deallocate()
    for bytes in unescaped { bytes.deallocate() }
  }

  /// Begins the keys of one more object.
  func open() -> Frame {
    Frame(start: count, many: nil)
  }

  /// Purges the keys of the innermost object.
  mutating func close(_ frame: Frame) {
    count = frame.start
  }

  /// Adds a key to the innermost object; false when it is already there.
  mutating func insert(_ key: JSONKey, into frame: inout Frame) -> Bool {
    if frame.many != nil {
      return frame.many?.insert(key).inserted ?? false
    }
    let signature = key.signature
    for index in frame.start..<count where entries[index].signature == signature {
      if entries[index].key == key { return false }
    }
    append(Entry(signature: signature, key: key))
    if count &- frame.start > Self.linearLimit {
      var many = Set<JSONKey>(minimumCapacity: 4 * Self.linearLimit)
      for index in frame.start..<count { many.insert(entries[index].key) }
      frame.many = many
    }
    return true
  }

  /// Keeps a copy of `bytes` for as long as the reader lives, and answers the key that points to it.
  mutating func own(_ bytes: [UInt8]) -> JSONKey {
    let copy = UnsafeMutablePointer<UInt8>.allocate(capacity: bytes.count + 1)
    for (index, byte) in bytes.enumerated() { (copy + index).initialize(to: byte) }
    unescaped.append(copy)
    return JSONKey(start: UnsafePointer(copy), count: bytes.count)
  }

  private mutating func append(_ entry: Entry) {
    if count == capacity {
      let larger = UnsafeMutablePointer<Entry>.allocate(capacity: capacity * 2)
      larger.moveInitialize(from: entries, count: count)
      entries.deallocate()
      entries = larger
      capacity *= 2
    }
    (entries + count).initialize(to: entry)
    count &+= 1
  }
}
