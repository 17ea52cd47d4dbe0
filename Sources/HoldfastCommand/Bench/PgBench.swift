import Foundation

/// PostgreSQL's own limits, measured with its own programs.
struct PgBench {
  let url: String
  let folder: URL

  /// Durable inserts of 1,000 rows each per second, by one client.
  func bareSets(count: Int, with text: String) throws -> Double {
    try insert(
      "SELECT gen_random_uuid()::text, 'a zone', '\(text)' FROM generate_series(1, 1000)", clients: 1,
      each: count)
  }

  /// Durable single-row inserts per second into a table with only a key, by several clients of pgbench.
  func bareInserts(clients: Int, count: Int) throws -> Double {
    try insert(
      "VALUES (gen_random_uuid()::text, 'a zone', 'a note')", clients: clients, each: count / clients)
  }

  private func insert(_ rows: String, clients: Int, each count: Int) throws -> Double {
    try psql("CREATE TABLE IF NOT EXISTS bench_bare (id text PRIMARY KEY, zone text, text text)")
    let script = folder.appendingPathComponent("bare.sql")
    try Data("INSERT INTO bench_bare \(rows);\n".utf8).write(
      to: script)
    let output = try Self.run(
      "pgbench",
      [
        "-n", "-M", "prepared", "-c", String(clients), "-j", "2", "-t", String(count), "-f",
        script.path, url,
      ])
    for line in output.split(separator: "\n") where line.hasPrefix("tps = ") {
      if let rate = line.split(separator: " ").dropFirst(2).first.flatMap({ Double($0) }) { return rate }
    }
    throw BenchError(text: "pgbench said no tps: \(output)")
  }

  /// Runs SQL, and returns its output.
  @discardableResult
  func psql(_ sql: String) throws -> String {
    try Self.run("psql", ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", sql])
  }

  private static func run(_ program: String, _ arguments: [String]) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [program] + arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    try process.run()
    let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw BenchError(text: "\(program) ended with \(process.terminationStatus)")
    }
    return output
  }
}
