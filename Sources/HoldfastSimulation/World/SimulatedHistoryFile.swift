import HoldfastSQLiteStore
import HoldfastServer

/// The history file beside the server's database, on the simulated disk.
final class SimulatedHistoryFile: HistoryFile {
  static let name = "holdfast.history"
  private let disk: SimulatedDisk
  private let path = "/\(SimulatedServer.machine)/\(name)"

  init(_ disk: SimulatedDisk) { self.disk = disk }

  func read() throws -> [UInt8]? { try disk.contents(path) }

  func write(_ bytes: [UInt8], isSynced: Bool) throws {
    try disk.writeInPlace(path, bytes, isSynced: isSynced)
  }
}
