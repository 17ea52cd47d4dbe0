import Glibc
import HoldfastCore
import HoldfastSQLite
import HoldfastSQLiteStore
import HoldfastService

/// The place that a snapshot is written to. A file there is replaced only if it is a snapshot, too: never a database of a server, a device's
/// database with edits that no server has, or a file of another program.
struct SnapshotTarget {
  let path: String
  /// The data directory of the server; nil for PostgreSQL.
  let dataDirectory: String?

  /// - Throws: `ServerError.refused` if something would be lost.
  func check() throws(ServerError) {
    if isInDataDirectory {
      throw refusal("is in the data directory of the server")
    }
    for ending in ["-wal", "-shm", "-journal"] {
      if path.hasSuffix(ending), isThere(String(path.dropLast(ending.count))) {
        throw refusal("would be a part of the database beside it")
      }
      // SQLite would apply the log to the new file.
      if isThere(path + ending) { throw refusal("has \(path + ending) beside it, as a database in use has") }
    }
    guard isThere(path) else { return }
    if let reason = reasonToKeep { throw refusal("is there, and \(reason)") }
  }

  private func refusal(_ reason: String) -> ServerError {
    ServerError(.refused, "\(path) \(reason). Only a snapshot is replaced: name another file.")
  }

  private func isThere(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
  }

  private var isInDataDirectory: Bool {
    guard let dataDirectory, let directory = RealPath(dataDirectory) else { return false }
    let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    return RealPath(folder)?.isIn(directory) ?? false
  }

  /// Why the file that is there can't be replaced; nil for a snapshot or an empty file.
  private var reasonToKeep: String? {
    var status = stat()
    // A link may lead to a device, which must not be opened.
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return "is no file" }
    if status.st_size == 0 { return nil }
    guard let header = Self.header(of: path) else { return "can't be read" }
    guard header.starts(with: "SQLite format 3\0".utf8), header.count == Self.headerSize,
      header[68..<72].reduce(0, { $0 << 8 | Int64($1) }) == Int64(DeviceTables.applicationID)
    else { return "is no snapshot" }
    // A device's database has a write-ahead log. To open it could change it.
    guard header[18] == 1, header[19] == 1 else { return "is the database of a device" }
    do {
      let connection = try SQLiteConnection(path: path, access: .readOnly)
      let isUsed = try connection.value(
        """
        SELECT device IS NOT NULL OR token IS NOT NULL OR EXISTS (SELECT 1 FROM holdfast_edits)
          OR EXISTS (SELECT 1 FROM holdfast_outbox) OR EXISTS (SELECT 1 FROM holdfast_quarantine) FROM holdfast_local
        """)
      return isUsed?.integer == 0 ? nil : "is the database of a device"
    } catch { return "is damaged, or no snapshot" }
  }

  private static let headerSize = 100

  /// The first bytes of a file; nil if it can't be read. Source: <https://www.sqlite.org/fileformat2.html#the_database_header>.
  private static func header(of path: String) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: headerSize)
    let count = pread(descriptor, &bytes, headerSize, 0)
    return count < 0 ? nil : Array(bytes.prefix(count))
  }
}
