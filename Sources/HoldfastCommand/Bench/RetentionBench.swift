import Foundation
import Holdfast
import HoldfastCore
import HoldfastServer

/// A million records that are created and deleted. Shows whether the file stops growing.
struct RetentionBench {
  /// The number of records in a change set.
  static let size = 1000

  let folder: URL
  let server: Server
  var bench: ServerBench

  /// Runs cycles, each with a change set of creates and one of deletes, and prints the size of the file after each tenth.
  mutating func measure(cycles: Int) throws {
    let sets = max(cycles / Self.size, 10)
    let administration = try Administration(.directory(folder.appendingPathComponent("data").path))
    // Sufficient for a single device that acks with its next request.
    let retention = Retention(tombstones: .zero)
    var tombstones = 0
    for tenth in 1...10 {
      for _ in 0..<(sets / 10) {
        try bench.cycle(of: Self.size)
        tombstones += try administration.purge(retention).tombstones
      }
      print(
        "after \(tenth * (sets / 10) * Self.size) cycles: \(try size()) bytes, \(tombstones) tombstones were purged"
      )
    }
  }

  /// The size of the database with its write-ahead log.
  private func size() throws -> Int {
    let folder = folder.appendingPathComponent("data")
    return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: [.fileSizeKey])
      .filter { $0.lastPathComponent.hasPrefix("holdfast.db") }
      .reduce(0) { try $0 + ($1.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0) }
  }
}
