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

  /// Reads of so many rows by their key a second, by so many clients of pgbench.
  func reads(of rows: Int, clients: Int, count: Int) throws -> Double {
    try psql(
      """
      CREATE TABLE IF NOT EXISTS bench_rows (id bigint PRIMARY KEY, text text);
      INSERT INTO bench_rows SELECT i, repeat('n', 100) FROM generate_series(1, 10000) i ON CONFLICT DO NOTHING;
      """)
    return try run(
      "SELECT id, text FROM bench_rows WHERE id > 5000 ORDER BY id LIMIT \(rows)", clients: clients,
      each: count / clients)
  }

  /// Rows a second of a COPY of a zone's notes, which nobody reads.
  func copyOut(of zone: String, count: Int) throws -> Double {
    let sql =
      "COPY (SELECT id, zone, text FROM notes WHERE zone = '\(zone)' LIMIT \(count)) TO STDOUT"
    let clock = ContinuousClock()
    let (seconds, attoseconds) = try clock.measure { try psql(sql) }.components
    return Double(count) / (Double(seconds) + Double(attoseconds) / 1e18)
  }

  private func insert(_ rows: String, clients: Int, each count: Int) throws -> Double {
    try psql("CREATE TABLE IF NOT EXISTS bench_bare (id text PRIMARY KEY, zone text, text text)")
    return try run("INSERT INTO bench_bare \(rows)", clients: clients, each: count)
  }

  /// Transactions of one statement a second.
  private func run(_ statement: String, clients: Int, each count: Int) throws -> Double {
    let script = folder.appendingPathComponent("bare.sql")
    try Data("\(statement);\n".utf8).write(to: script)
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
