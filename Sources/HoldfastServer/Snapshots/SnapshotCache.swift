import HoldfastConcurrency
import Glibc
import HoldfastCore
import HoldfastHTTP
import HoldfastSQLiteStore
import HoldfastService

/// The folder of built snapshots. Callable from any thread.
///
/// @unchecked Sendable: the list is accessed only with the lock held.
final class SnapshotCache: @unchecked Sendable {
  /// The number of states kept per zone, for downloads of an older one.
  private static let statesOfZone = 2

  let folder: String
  private let limit: Int64
  private let lock = Lock()
  /// Oldest first.
  private var snapshots: [Snapshot] = []

  /// Opens the folder, creating it if missing. Removes unusable files: those of another era, and drafts that a crash left.
  ///
  /// - Parameters:
  ///   - limit: the maximum size of all files in bytes.
  ///   - era: that of the database.
  /// - Throws: `ServerError.unreachable`.
  init(_ folder: String, limit: Int64, era: SnapshotEra) throws(ServerError) {
    self.folder = folder
    self.limit = limit
    try Self.make(folder)
    try read(era)
    trim()
  }

  /// Makes the folder if it is missing, and checks it.
  ///
  /// - Throws: `ServerError.unreachable`.
  static func make(_ folder: String) throws(ServerError) {
    if mkdir(folder, 0o700) != 0, errno != EEXIST {
      throw ServerError(
        .unreachable,
        "The folder \(folder) can't be made: \(systemMessage(errno)). Name another with --cache.")
    }
    try check(folder)
  }

  /// Checks that snapshots can be kept in a folder, or that it can be made. Writes nothing.
  static func check(_ folder: String) throws(ServerError) {
    var status = stat()
    let isThere = stat(folder, &status) == 0
    let above = folder.split(separator: "/").dropLast().joined(separator: "/")
    let parent = folder.hasPrefix("/") ? "/\(above)" : above.isEmpty ? "." : above
    if isThere, status.st_mode & S_IFMT != S_IFDIR {
      errno = ENOTDIR
    } else if access(isThere ? folder : parent, W_OK | X_OK) == 0 {
      return
    }
    throw ServerError(
      .unreachable,
      "Snapshots can't be kept in \(folder): \(systemMessage(errno)). Name another with --cache.")
  }

  private func read(_ era: SnapshotEra) throws(ServerError) {
    var found: [SnapshotKey: [Int64: [SnapshotCoding: Snapshot.Form]]] = [:]
    for name in try Self.names(in: folder) {
      let path = "\(folder)/\(name)"
      if let (key, seq, coding, digest) = Snapshot.parse(name), key.era == era,
        found[key]?[seq]?[coding] == nil
      {
        var status = stat()
        if stat(path, &status) == 0 {
          found[key, default: [:]][seq, default: [:]][coding] = .init(
            path: path, size: Int64(status.st_size), digest: digest)
        }
      } else if Self.isOurs(name) {
        unlink(path)
      }
    }
    for (key, states) in found {
      for (seq, forms) in states {
        let snapshot = Snapshot(key: key, seq: seq, forms: forms)
        if forms.count == SnapshotCoding.allCases.count {
          snapshots.append(snapshot)
        } else {
          Self.remove(snapshot)
        }
      }
    }
    // The order of use is lost at a restart.
    snapshots.sort { $0.seq < $1.seq }
  }

  /// The names of the entries of a folder.
  ///
  /// - Throws: `ServerError.unreachable`.
  static func names(in folder: String, option: String = "--cache") throws(ServerError) -> [String] {
    guard let listing = opendir(folder) else {
      throw ServerError(
        .unreachable,
        "The folder \(folder) can't be read: \(systemMessage(errno)). Name another with \(option).")
    }
    defer { closedir(listing) }
    var names: [String] = []
    while let entry = readdir(listing) {
      // Read in place: an entry is shorter than its C type, so copying it would read beyond the buffer.
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        String(cString: UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }

  /// Whether a file may be removed. The folder may contain files of other programs.
  private static func isOurs(_ name: String) -> Bool {
    Snapshot.parse(name) != nil || name.hasPrefix("holdfast-building-")
  }

  /// A path for a file under construction. The next start removes it if it is left over.
  func draft(_ random: [UInt8]) -> String { "\(folder)/holdfast-building-\(hexadecimal(random))" }

  /// The latest snapshot of a key whose seq is at least `seq`.
  func latest(_ key: SnapshotKey, atLeast seq: Int64) -> Snapshot? {
    lock.hold { snapshots.filter { $0.key == key && $0.seq >= seq }.max { $0.seq < $1.seq } }
  }

  /// The snapshot and coding with an ETag.
  func snapshot(_ key: SnapshotKey, tag: String) -> (Snapshot, SnapshotCoding)? {
    lock.hold {
      for snapshot in snapshots where snapshot.key == key {
        for coding in SnapshotCoding.allCases where snapshot.tag(coding) == tag { return (snapshot, coding) }
      }
      return nil
    }
  }

  /// Moves the two files of a snapshot, already synced to disk, into the cache. Then trims the cache.
  func insert(
    _ key: SnapshotKey, _ seq: Int64, _ drafts: [SnapshotCoding: String]
  ) throws(ServerError) -> Snapshot {
    var forms: [SnapshotCoding: Snapshot.Form] = [:]
    for (coding, draft) in drafts {
      guard let file = HTTPFile(path: draft) else {
        throw ServerError(.unreachable, "\(draft) can't be read: \(systemMessage(errno)).")
      }
      let digest = ContentHash { file.read($0..<min($0 + 1 << 20, file.size)) }
      let path = "\(folder)/\(Snapshot.name(key, seq, coding, digest))"
      guard rename(draft, path) == 0 else {
        throw ServerError(.unreachable, "\(path) can't be written: \(systemMessage(errno)).")
      }
      forms[coding] = .init(path: path, size: file.size, digest: digest)
    }
    try syncToDisk(folder)
    let snapshot = Snapshot(key: key, seq: seq, forms: forms)
    lock.hold { snapshots.append(snapshot) }
    trim()
    return snapshot
  }

  /// The bytes of all files.
  var size: Int64 { lock.hold { snapshots.reduce(0) { $0 + $1.forms.values.reduce(0) { $0 + $1.size } } } }

  /// Whether the cache is empty.
  var isEmpty: Bool { lock.hold { snapshots.isEmpty } }

  /// Removes the snapshots of a key that are older than `seq`.
  func removeAll(_ key: SnapshotKey, before seq: Int64) { removeAll { $0.key == key && $0.seq < seq } }

  /// Removes the snapshots of all other eras.
  func removeAll(but era: SnapshotEra) { removeAll { $0.key.era != era } }

  private func removeAll(where isRemoved: (Snapshot) -> Bool) {
    let removed = lock.hold {
      let removed = snapshots.filter(isRemoved)
      snapshots.removeAll(where: isRemoved)
      return removed
    }
    for snapshot in removed { Self.remove(snapshot) }
  }

  /// Removes a snapshot whose file is gone.
  func remove(_ snapshot: Snapshot) {
    lock.hold { snapshots.removeAll { $0.key == snapshot.key && $0.seq == snapshot.seq } }
    Self.remove(snapshot)
  }

  /// Removes superseded states, and the oldest snapshots while the limit is exceeded. The latest snapshot stays.
  private func trim() {
    let removed = lock.hold {
      var removed: [Snapshot] = []
      var states: [SnapshotKey: Int] = [:]
      var size: Int64 = 0
      for (index, snapshot) in snapshots.enumerated().reversed() {
        states[snapshot.key, default: 0] += 1
        size += snapshot.size
        let isTooMuch = states[snapshot.key, default: 0] > Self.statesOfZone || size > limit
        if isTooMuch, index < snapshots.count - 1 {
          size -= snapshot.size
          removed.append(snapshot)
        }
      }
      snapshots.removeAll { kept in removed.contains { $0.key == kept.key && $0.seq == kept.seq } }
      return removed
    }
    for snapshot in removed { Self.remove(snapshot) }
  }

  /// Running downloads keep their open files.
  private static func remove(_ snapshot: Snapshot) { for form in snapshot.forms.values { unlink(form.path) } }
}
