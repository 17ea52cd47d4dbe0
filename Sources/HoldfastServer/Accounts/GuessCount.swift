import HoldfastCore
import HoldfastService

/// Counts failed password attempts, and decides who has to wait. Pure: docs/IDENTITY.md, section 4, has the table.
struct GuessCount {
  /// The three keys that an attempt counts for.
  struct Keys: Hashable {
    /// The account together with the address; then each by itself.
    let pair: TokenHash
    let name: TokenHash
    let address: TokenHash

    /// - Parameter address: the client's network; see `IPAddress.network`.
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

  /// The counts, in two generations. When the newer is full, it replaces the older. A written count moves to the newer.
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

  /// The lifetime of a count after its last failure, in milliseconds.
  static let life: Int64 = 86_400_000
  /// The number of counts in each generation of each of the three memories.
  static let half = 50_000
  /// The limit of an account, or of an address, is this many times the limit of a pair.
  static let width = 10
  /// The first and the longest wait, in milliseconds.
  static let waits: (first: Int64, longest: Int64) = (30_000, 3_600_000)

  private let limit: Int
  private var pairs = Memory()
  private var names = Memory()
  private var addresses = Memory()

  /// - Parameter limit: the number of failures of an account and an address together before they wait.
  init(limit: Int) { self.limit = max(limit, 1) }

  /// The number of counts in memory.
  var size: Int { pairs.count + names.count + addresses.count }

  /// Counts an attempt as a failure, until `rollBack` or `succeed`.
  ///
  /// - Throws: `Problem.tooManyAttempts`; the attempt is then not counted.
  mutating func begin(_ keys: Keys, at now: Int64) throws(Problem) {
    var (pair, name, address) = (
      pairs.entry(keys.pair, at: now), names.entry(keys.name, at: now),
      addresses.entry(keys.address, at: now)
    )
    // An attack from many addresses must not lock out the owner: each address keeps one attempt.
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

  /// Undoes the failure that `begin` counted.
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

  /// Undoes the failure, and clears the count of the account and address together. Call it after a correct password.
  mutating func succeed(_ keys: Keys, at now: Int64) {
    rollBack(keys, at: now)
    pairs.purge(keys.pair)
  }

  /// The time until which an entry has to wait.
  private static func end(_ entry: Entry, _ limit: Int) -> Int64 {
    if entry.wrong < limit { return 0 }
    return entry.last + min(waits.longest, waits.first << Int64(min(entry.wrong - limit, 16)))
  }
}
