import Foundation
import Holdfast
import Testing

/// A stream of events as curl shows it.
final class StreamClient {
  private let process = Process()
  private let output = Pipe()
  private var text = ""

  /// Opens a stream to a node as a device, and returns when it has heard `hello`.
  convenience init(_ cluster: Cluster, node: Int, as device: Device) throws {
    try self.init(cluster.nodes[node].address, as: device)
  }

  /// Opens a stream at an address.
  convenience init(_ address: URL, as device: Device) throws {
    let token = try device.token
    try self.init(["--header", "Authorization: Bearer \(token)", "\(address)/v1/events"])
  }

  /// Opens a stream at an address with a ticket.
  convenience init(_ address: URL, ticket: String) throws {
    try self.init(["\(address)/v1/events?ticket=\(ticket)"])
  }

  private init(_ arguments: [String]) throws {
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["curl", "--no-buffer", "--silent"] + arguments
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    if !hears("hello") { throw StoreError(.offline, "The node gave no stream.") }
  }

  deinit {
    // Not SIGTERM, which threads of Swift's pools, and so the programs that they start, have blocked.
    if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    process.waitUntilExit()
  }

  /// Reads until the stream has brought a word; false when it ends before.
  func hears(_ word: String) -> Bool {
    while true {
      if let range = text.range(of: word) {
        text.removeSubrange(..<range.upperBound)
        return true
      }
      let data = output.fileHandleForReading.availableData
      if data.isEmpty { return false }
      text += String(decoding: data, as: UTF8.self)
    }
  }

  /// Reads to the end of the stream.
  func waitForEnd() { while !output.fileHandleForReading.availableData.isEmpty {} }
}

extension Device {
  /// The token of the session.
  var token: String {
    get throws {
      let connection = try SQLiteConnection(path: path, access: .readOnly)
      return try #require(try connection.value("SELECT token FROM holdfast_local")?.text)
    }
  }
}
