import HoldfastCore
import HoldfastService

/// Counts attempts with passwords, and says who has to wait. Pure: docs/IDENTITY.md, section 4, has its table.
struct GuessCount {
  /// Whose attempt it is, in three ways.
  struct Keys: Hashable {
    /// The account and the address together, the account, the address.
    let pair: TokenHash
    let name: TokenHash
    let address: TokenHash

    /// - Parameter address: as its peers share it; see `IPAddress.network`.
    init(name: String, address: String) {
      pair = TokenHash(of: "pair\u{0}\(address)\u{0}\(name)")
      self.name = TokenHash(of: "name\u{0}\(name)")
      self.address = TokenHash(of: "address\u{0}\(address)")
    }
  }

  private struct Entry {
    var wrong = 0
    /// In milliseconds of the caller's clock.
    var last: Int64 = 0
  }

  /// What is remembered, in two halves: when the newer is full it becomes the older, which goes. What is used moves to the newer.
  private struct Memory {
    private var newer: [TokenHash: Entry] = [:]
    private var older: [TokenHash: Entry] = [:]

    func entry(_ key: TokenHash, at now: Int64) -> Entry {
      let entry = newer[key] ?? older[key] ?? Entry()
      return now - entry.last > GuessCount.life ? Entry() : entry
    }

    mutating func set(_ entry: Entry, _ key: TokenHash) {
      if newer.count >= GuessCount.half, newer[key] == nil { (older, newer) = (newer, [:]) }
      newer[key] = entry
    }

    var count: Int { newer.count + older.count }

    mutating func purge(_ key: TokenHash) {
      newer[key] = nil
      older[key] = nil
    }
  }

  /// A count is purged so long after its last failure.
  static let life: Int64 = 86_400_000
  /// How many counts each half of each of the three memories has.
  static let half = 50_000
  /// An account, or an address, may have so many times the failures of both together.
  static let width = 10
  /// The first wait and the longest.
  static let waits: (first: Int64, longest: Int64) = (30_000, 3_600_000)

  private let limit: Int
  private var pairs = Memory()
  private var names = Memory()
  private var addresses = Memory()

  /// - Parameter limit: how many failures an account and an address have together before they wait.
  init(limit: Int) { self.limit = max(limit, 1) }

  /// How many counts are remembered.
  var size: Int { pairs.count + names.count + addresses.count }

  /// Counts an attempt as a failure, until it is rolled back.
  ///
  /// - Throws: `Problem.tooManyAttempts`; then nothing is counted.
  mutating func begin(_ keys: Keys, at now: Int64) throws(Problem) {
    var (pair, name, address) = (
      pairs.entry(keys.pair, at: now), names.entry(keys.name, at: now),
      addresses.entry(keys.address, at: now)
    )
    // Whoever guesses from everywhere keeps nobody out who knows the password: everybody has one attempt.
    let ofPair = name.wrong >= limit * Self.width ? 1 : limit
    let end = max(Self.end(pair, ofPair), Self.end(address, limit * Self.width))
    if end > now { throw Problem(.tooManyAttempts, retryAfter: Int((end - now + 999) / 1000)) }
    func count(_ entry: inout Entry) { entry = Entry(wrong: entry.wrong + 1, last: now) }
    count(&pair)
    count(&name)
    count(&address)
    pairs.set(pair, keys.pair)
    names.set(name, keys.name)
    addresses.set(address, keys.address)
  }

  /// The attempt was no failure.
  mutating func rollBack(_ keys: Keys, at now: Int64) {
    func discount(_ memory: inout Memory, _ key: TokenHash) {
      var entry = memory.entry(key, at: now)
      entry.wrong -= 1
      if entry.wrong > 0 { memory.set(entry, key) } else { memory.purge(key) }
    }
    discount(&pairs, keys.pair)
    discount(&names, keys.name)
    discount(&addresses, keys.address)
  }

  /// The password was right: its account and address resync.
  mutating func succeed(_ keys: Keys, at now: Int64) {
    rollBack(keys, at: now)
    pairs.purge(keys.pair)
  }

  /// Until when an entry has to wait.
  private static func end(_ entry: Entry, _ limit: Int) -> Int64 {
    if entry.wrong < limit { return 0 }
    return entry.last + min(waits.longest, waits.first << Int64(min(entry.wrong - limit, 16)))
  }
}
