import Foundation
import Glibc
import Holdfast

/// `holdfast serve` of this program as a separate process, so that its memory can be measured.
final class ServerProgram {
  let port: UInt16
  private let process = Process()

  var url: String { "http://127.0.0.1:\(port)" }

  /// - Parameters:
  ///   - database: the PostgreSQL database; nil for SQLite.
  ///   - data: the name of its directory in the folder, with SQLite.
  init(folder: URL, schema: SyncSchema, database: String?, data: String) throws {
    let file = folder.appendingPathComponent("bench.json")
    try Data(schema.json.bytes).write(to: file)
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    let place = database.map { ["--database", $0] } ?? ["--data", folder.appendingPathComponent(data).path]
    process.arguments =
      ["serve", "--schema", file.path, "--listen", "127.0.0.1:0", "--sign-up-limit", "1000"] + place
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    guard let port = line.split(separator: ":").last.flatMap({ UInt16($0.filter(\.isNumber)) }) else {
      throw BenchError(text: "the server did not start: \(line)")
    }
    self.port = port
  }

  /// Its memory in bytes: `VmRSS` is what it has in use, `VmHWM` the most that it had.
  func memory(_ field: String) throws -> Double {
    try ResourceBench.memory(field, of: String(process.processIdentifier))
  }

  /// The processor time that it has taken, in seconds.
  func processorSeconds() throws -> Double {
    let text = try String(contentsOfFile: "/proc/\(process.processIdentifier)/stat", encoding: .utf8)
    // Behind the name, which may have blanks: the 14th and 15th field of all are the ticks.
    let fields = (text.components(separatedBy: ") ").last ?? "").split(separator: " ")
    guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else {
      throw BenchError(text: "the processor time of the server can't be read")
    }
    return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }

  deinit {
    process.terminate()
    process.waitUntilExit()
  }
}
