import Foundation

/// A script of Scripts/ that starts and stops a server in a folder.
enum Script: String {
  case postgres = "postgres.sh"
  case pgbouncer = "pgbouncer.sh"

  private var path: String {
    URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("Scripts/\(rawValue)").path
  }

  /// Runs it and gives what it printed.
  func run(_ arguments: String...) throws -> String {
    let output = try Subprocess.pipe()
    let process = try Subprocess([path] + arguments, input: nil, output: output.writing)
    close(output.writing)
    let bytes = FileHandle(fileDescriptor: output.reading, closeOnDealloc: true).readDataToEndOfFile()
    guard process.wait() == 0 else {
      throw TemporaryPostgresError("\(rawValue) \(arguments.joined(separator: " ")) failed")
    }
    return String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// Makes a folder, and starts a shell that stops its server and removes it when the lifeline is closed, or this
  /// process is gone.
  ///
  /// - Parameters:
  ///   - base: the folder that it is made in.
  ///   - how: what the script's `stop` is given besides the folder.
  func makeFolder(
    in base: String = NSTemporaryDirectory(), stopping how: String = ""
  ) throws -> (folder: String, lifeline: Int32) {
    let template = "\(base)/holdfast-server-XXXXXX"
    var path = Array(template.utf8CString)
    guard mkdtemp(&path) != nil else { throw TemporaryPostgresError("mkdtemp failed for \(template)") }
    let folder = String(decoding: path.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let lifeline = try Subprocess.pipe()
    let watchdog = "trap '' INT TERM HUP; cat; \"$0\" stop \"$1\" $2; rm -rf \"$1\""
    _ = try Subprocess(
      ["/bin/bash", "-c", watchdog, self.path, folder, how], input: lifeline.reading, output: nil)
    close(lifeline.reading)
    return (folder, lifeline.writing)
  }
}
