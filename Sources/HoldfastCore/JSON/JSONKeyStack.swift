/// The keys of the open objects, for the detection of duplicates.
///
/// An object's first 64 keys are compared one by one through a 64-bit signature, which is fastest for small objects. Beyond 64, a seeded
/// hash set takes over: n keys cost O(n), and an attacker can't construct collisions.
struct JSONKeyStack: ~Copyable {
  /// An open object: the start of its keys on the stack, and the set once it has many.
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
  /// The unescaped bytes of keys with escapes. They live as long as the reader, because keys point into them.
  private var unescaped: [UnsafeMutablePointer<UInt8>] = []

  init() {
    entries = .allocate(capacity: capacity)
  }

  deinit {
    entries.deallocate()
    for bytes in unescaped { bytes.deallocate() }
  }

  /// Begins another object.
  func open() -> Frame {
    Frame(start: count, many: nil)
  }

  /// Removes the keys of the innermost object.
  mutating func close(_ frame: Frame) {
    count = frame.start
  }

  /// Adds a key to the innermost object; false if it is a duplicate.
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

  /// Copies `bytes` for the lifetime of the reader, and returns a key that points to the copy.
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
