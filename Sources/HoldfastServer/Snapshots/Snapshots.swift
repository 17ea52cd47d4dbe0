import Glibc
import HoldfastCore
import HoldfastHTTP
import HoldfastSQLiteStore
import HoldfastService
import Synchronization

/// The snapshots that a server offers: cached, and built one at a time.
final class Snapshots: Sendable {
  /// The maximum number of queued builds.
  static let queueLimit = 64

  let cache: SnapshotCache
  private let database: any ServerDatabase
  private let random: @Sendable (Int) -> [UInt8]
  private let built = Atomic<Int>(0)
  private let isInterrupted = Atomic<Bool>(false)
  /// Whether the folder is removed when the server stops.
  private let isTemporary: Bool

  /// - Parameters:
  ///   - folder: the folder of the files; nil for a new temporary folder.
  ///   - limit: the maximum size of all files in bytes.
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
    cache = try SnapshotCache(
      place, limit: limit, era: SnapshotEra(database.schema, epoch: database.epoch))
  }

  deinit { close() }

  /// Makes the running build fail soon, and later ones.
  func interrupt() { isInterrupted.store(true, ordering: .relaxed) }

  private var areInterrupted: Bool { isInterrupted.load(ordering: .relaxed) }

  /// Removes a temporary folder. Running downloads continue.
  func close() { if isTemporary { removeFolder() } }

  /// The number of snapshots built so far.
  var builds: Int { built.load(ordering: .relaxed) }

  func key(_ zone: String) -> SnapshotKey { SnapshotKey(zone, database.schema, epoch: database.epoch) }

  /// A snapshot of a zone whose seq is at least `seq`, from the cache or newly built. One thread at a time.
  ///
  /// - Throws: `Problem`: `notFound` if there is no such zone, `busy` if it is interrupted; `ServerError`; errors of the database.
  func snapshot(of zone: String, atLeast seq: Int64) throws -> Snapshot {
    let key = key(zone)
    let builder = SnapshotBuilder(
      schema: database.schema, epoch: String(key.era.epoch), isInterrupted: { [self] in areInterrupted })
    if let snapshot = cache.latest(key, atLeast: seq) { return snapshot }
    try keepFolder()
    let plain = cache.draft(random(8))
    let compressed = plain + ".zst"
    defer { for draft in [plain, compressed] { unlink(draft) } }
    let zones: [SnapshotBuilder.Zone]
    do { zones = try database.read { try builder.build(.zone(zone), from: $0, to: plain) } } catch let error
      as ServerError where error.code == .notFound
    {
      throw Problem(.notFound)
    }
    guard try Zstandard.compress(plain, to: compressed, while: { [self] in !areInterrupted }) else {
      throw Problem(.busy, retryAfter: 1)
    }
    try syncToDisk(compressed)
    built.add(1, ordering: .relaxed)
    return try cache.insert(key, zones[0].seq, [.identity: plain, .zstd: compressed])
  }

  /// Removes snapshots that predate the erasure of a user from their zone, and those that can't be asked for since an epoch has begun.
  func removeErased() throws {
    if cache.isEmpty { return }
    cache.removeAll(but: SnapshotEra(database.schema, epoch: database.epoch))
    for (zone, seq) in try database.read({ try $0.erasedZones() }) {
      cache.removeAll(key(zone), before: seq)
    }
  }

  /// Makes the folder again if it was removed, as a cache may be.
  private func keepFolder() throws(ServerError) {
    try SnapshotCache.make(cache.folder)
    var status = stat()
    guard isTemporary else { return }
    // Everybody may make one of that name in /tmp.
    guard lstat(cache.folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid()
    else { throw ServerError(.unreachable, "\(cache.folder) is somebody else's. Start the server again.") }
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
