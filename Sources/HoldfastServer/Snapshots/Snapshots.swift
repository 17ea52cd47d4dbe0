import Glibc
import HoldfastCore
import HoldfastHTTP
import HoldfastSQLiteStore
import HoldfastService
import Synchronization

/// The snapshots of zones that a server gives out: cached, and built one after the other.
final class Snapshots: Sendable {
  /// How many builds may wait.
  static let queueLimit = 64

  let cache: SnapshotCache
  private let database: any ServerDatabase
  private let random: @Sendable (Int) -> [UInt8]
  private let built = Atomic<Int>(0)
  /// Whether the folder goes with the server.
  private let isTemporary: Bool

  /// - Parameters:
  ///   - folder: where files are kept; nil for a new temporary folder.
  ///   - limit: how many bytes they may have.
  /// - Throws: `ServerError.unreachable`.
  init(
    _ database: any ServerDatabase, folder: String?, limit: Int64,
    random: @escaping @Sendable (Int) -> [UInt8]
  ) throws(ServerError) {
    self.database = database
    self.random = random
    isTemporary = folder == nil
    let place: String
    if let folder { place = folder } else { place = try Self.makeTemporaryFolder() }
    cache = try SnapshotCache(place, limit: limit, epoch: database.epoch)
  }

  deinit { close() }

  /// Removes the folder if it is a temporary one; what is being sent is sent on.
  func close() { if isTemporary { removeFolder() } }

  /// How many files were built.
  var builds: Int { built.load(ordering: .relaxed) }

  func key(_ zone: String) -> SnapshotKey { SnapshotKey(zone, database.schema, epoch: database.epoch) }

  /// A snapshot of a zone that is not older than `seq`, from the cache or built now. One thread at a time.
  ///
  /// - Throws: `Problem.notFound` when there is no such zone; `ServerError`; what the database throws.
  func snapshot(of zone: String, atLeast seq: Int64) throws -> Snapshot {
    let key = key(zone)
    let builder = SnapshotBuilder(schema: database.schema, epoch: key.epoch)
    if let snapshot = cache.latest(key, atLeast: seq) { return snapshot }
    let plain = cache.draft(random(8))
    let compressed = plain + ".zst"
    defer { for draft in [plain, compressed] { unlink(draft) } }
    let zones: [SnapshotBuilder.Zone]
    do { zones = try database.read { try builder.build(.zone(zone), from: $0, to: plain) } } catch let error
      as ServerError where error.code == .notFound
    {
      throw Problem(.notFound)
    }
    try Zstandard.compress(plain, to: compressed)
    try syncToDisk(compressed)
    built.add(1, ordering: .relaxed)
    return try cache.insert(key, zones[0].seq, [.identity: plain, .zstd: compressed])
  }

  /// Removes the snapshots of zones from which a user was erased since.
  func removeErased() throws {
    if cache.isEmpty { return }
    for (zone, seq) in try database.read({ try $0.erasedZones() }) {
      cache.removeAll(key(zone), before: seq)
    }
  }

  private static func makeTemporaryFolder() throws(ServerError) -> String {
    let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var template = Array("\(parent)/holdfast-snapshots-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
      throw ServerError(
        .unreachable,
        "No folder can be made in \(parent): \(systemMessage(errno)). Name one with --cache.")
    }
    return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  private func removeFolder() {
    for name in (try? SnapshotCache.names(in: cache.folder)) ?? [] { unlink("\(cache.folder)/\(name)") }
    rmdir(cache.folder)
  }
}
