import Foundation
import Glibc
import Holdfast

/// What a server and a device take of the machine: processor time, and memory at its peak. No limit stands beside it.
struct ResourceBench {
  private static let connections = 16

  let folder: URL
  let schema: SyncSchema
  let database: String?

  func measure() async throws {
    let server = try ServerProgram(folder: folder, schema: schema, database: database, data: "resources")
    let people = try await Bench.signUp(Self.connections, named: "resources", at: server.url)
    var bench = ServerBench(port: server.port, tokens: people.tokens, zones: people.users)
    try tell("creates", of: server, 10_000) { try bench.creates(connections: Self.connections, requests: $0) }
    try tell("up-to-date syncs", of: server, 40_000) {
      try bench.upToDate(connections: Self.connections, requests: $0)
    }
    try tell("up-to-date polls", of: server, 40_000) {
      try bench.polls(connections: Self.connections, requests: $0)
    }
    let download = DownloadBench(folder: folder, runs: 1, server: server.url, schema: schema)
    let peak = try await download.peak()
    print(
      "memory of a device at its peak, 100,000 records arrive: \(Self.megabytes(peak)) MB more than before")
    print("memory of the server at its peak: \(Self.megabytes(try server.memory("VmHWM"))) MB")
  }

  private func tell(
    _ name: String, of server: ServerProgram, _ count: Int, _ work: (Int) throws -> Double
  ) throws {
    let before = try server.processorSeconds()
    _ = try work(count)
    let seconds = (try server.processorSeconds() - before) / Double(count) * 1000
    print("processor time of the server for 1,000 \(name): \(String(format: "%.3f", seconds)) s")
  }

  private static func megabytes(_ bytes: Double) -> Int { Int((bytes / 1e6).rounded()) }

  /// What the system says of a process's memory, in bytes.
  static func memory(_ field: String, of process: String) throws -> Double {
    let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
    guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix("\(field):") }),
      let kibibytes = Double(line.filter(\.isNumber))
    else { throw BenchError(text: "the memory of a process can't be read") }
    return kibibytes * 1024
  }
}
