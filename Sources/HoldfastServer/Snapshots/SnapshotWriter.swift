import Glibc
import HoldfastCore
import HoldfastSQLiteStore
public import HoldfastService

/// Writes snapshots for an app to ship: `holdfast snapshot`. Works while servers run.
public struct SnapshotWriter {
  private let database: any ServerDatabase
  private let random: @Sendable (Int) -> [UInt8]
  private let dataDirectory: String?

  /// Opens the database of a server.
  ///
  /// - Throws: `ServerError` if there is none, or it is not Holdfast's.
  public init(_ location: DatabaseLocation, environment: ServerEnvironment = .system) throws {
    database = try location.open(schema: nil, random: environment.random)
    random = environment.random
    if case .directory(let path) = location { dataDirectory = path } else { dataDirectory = nil }
  }

  /// Writes a file, replacing an existing snapshot atomically.
  ///
  /// - Returns: the zones in the file, with their change tokens.
  /// - Throws: `ServerError`, `refused` if another file than a snapshot is there; errors of the database.
  public func write(_ contents: SnapshotContents, to path: String) throws -> [(zone: String, token: String)] {
    let target = SnapshotTarget(path: path, dataDirectory: dataDirectory)
    try target.check()
    let draft = try SnapshotDraft(of: path, random: random)
    defer { draft.remove() }
    let builder = SnapshotBuilder(schema: database.schema, epoch: database.epoch)
    let zones = try database.read { reader in
      try writing(path) { try builder.build(contents, from: reader, to: draft.path) }
    }
    // A device may have opened the earlier one as its database meanwhile.
    try target.check()
    guard rename(draft.path, path) == 0 else {
      throw ServerError(.unreachable, "\(path) can't be written: \(systemMessage(errno)).")
    }
    let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    try syncToDisk(folder)
    return zones.map { ($0.zone, ChangeToken(epoch: database.epoch, seq: $0.seq).text) }
  }
}
