import Foundation
import Holdfast

/// `holdfast serve` of this program as a separate process, so that its memory can be measured.
final class ServerProgram {
  let port: UInt16
  private let process = Process()

  init(folder: URL, schema: SyncSchema) throws {
    let file = folder.appendingPathComponent("bench.json")
    try Data(schema.json.bytes).write(to: file)
    process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = [
      "serve", "--schema", file.path, "--data", folder.appendingPathComponent("push").path, "--listen",
      "127.0.0.1:0", "--sign-up-limit", "1000",
    ]
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

  /// The resident memory in bytes.
  func memory() throws -> Double {
    let status = try String(contentsOfFile: "/proc/\(process.processIdentifier)/status", encoding: .utf8)
    guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmRSS:") }),
      let kibibytes = Double(line.filter(\.isNumber))
    else { throw BenchError(text: "the memory of the server can't be read") }
    return kibibytes * 1024
  }

  deinit {
    process.terminate()
    process.waitUntilExit()
  }
}
