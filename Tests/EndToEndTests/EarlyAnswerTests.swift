import HoldfastCore
import Foundation
import HoldfastHTTP
import HoldfastServer
import Testing

/// Answers that are given before there is a request: a page in a browser must be able to read them, too.
@Suite("An early answer") struct EarlyAnswerTests {
  private static let origin = "https://app.example.org"

  @Test("says what a browser needs to show it, and is no page itself, whatever kept it from being a request")
  func crossOrigin() throws {
    let folder = try Programs.makeFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    var configuration = Configuration(
      schema: try Scene.schema(), database: try SharedDatabase.make(in: folder).location
    ) { _ in }
    configuration.allowedOrigins = [Self.origin]
    configuration.limits.requestDeadline = .milliseconds(200)
    let server = try Server(configuration)
    defer { server.stop(grace: .zero) }
    let long = String(repeating: "x", count: 20_000)
    let headers = "Host: h\r\nConnection: close\r\nOrigin: \(Self.origin)\r\n"
    let post = "POST /v1/sync HTTP/1.1\r\n\(headers)"
    let get = "GET /v1/zones HTTP/1.1\r\n\(headers)"
    for (text, status) in [
      (get + "\r\n", 401), (post + "Content-Length: 5\r\n\r\n", 401),
      (post + "Content-Length: 99999999\r\n\r\n", 401),
      (post + "Content-Length: x\r\n\r\n", 400), (get + "X: \(long)\r\n\r\n", 431),
      (get + "X : y\r\n\r\n", 400),
      (post + "Transfer-Encoding: gzip\r\n\r\n", 501), (post + "Expect: x\r\n\r\n", 417),
      (
        post.replacingOccurrences(of: "/v1/sync", with: "/v1/accounts") + "Content-Length: 17000\r\n\r\n", 413
      ),
      // Whoever stops in the middle.
      (get + "X: ", 408),
    ] {
      let answer = try Self.exchange(text, port: server.port)
      #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(status): \(answer.prefix(60))")
      #expect(answer.contains("\r\nAccess-Control-Allow-Origin: \(Self.origin)\r\n"), "\(status)")
      #expect(answer.contains("\r\nVary: Origin\r\n"), "\(status)")
      #expect(answer.contains("\r\nX-Content-Type-Options: nosniff\r\n"), "\(status)")
      #expect(answer.contains("\r\nContent-Type: application/problem+json\r\n"), "\(status)")
      #expect(answer.components(separatedBy: "\r\nContent-Length: ").count == 2, "one answer alone")
    }
  }

  /// Sends bytes, and reads to the end of the connection.
  private static func exchange(_ text: String, port: UInt16) throws -> String {
    let run = Process()
    let (input, output) = (Pipe(), Pipe())
    run.executableURL = URL(fileURLWithPath: "/bin/bash")
    // A connection that is closed with bytes on their way is reset: that is not what is looked at.
    run.arguments = ["-c", "exec 3<>/dev/tcp/127.0.0.1/\(port); cat >&3; cat <&3; true"]
    run.standardInput = input
    run.standardOutput = output
    run.standardError = FileHandle.nullDevice
    try run.run()
    input.fileHandleForWriting.write(Data(text.utf8))
    try input.fileHandleForWriting.close()
    let answer = output.fileHandleForReading.readDataToEndOfFile()
    run.waitUntilExit()
    return String(decoding: answer, as: UTF8.self)
  }
}
