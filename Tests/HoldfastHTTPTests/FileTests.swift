import Foundation
import HoldfastHTTP
import Testing

@Suite("An answer that is a file")
struct FileTests {
  private let path = FileManager.default.temporaryDirectory
    .appendingPathComponent("holdfast-file-\(UUID().uuidString)").path

  @Test("is sent whole or in part, on one connection, and without its bytes for HEAD")
  func slices() throws {
    let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    let file = try #require(HTTPFile(path: path))
    // It is read on, whatever becomes of its name.
    try FileManager.default.removeItem(atPath: path)
    let server = try HTTPServer { request, responder in
      let bounds = request.path.dropFirst().split(separator: "-").compactMap { Int64($0) }
      responder.respond(HTTPResponse(status: 200, file: .init(file, bounds[0]..<bounds[1])))
    }
    let client = try RawClient(port: server.port)
    for range in [0..<300_000, 5..<6, 100_000..<250_000, 0..<0, 299_990..<400_000] {
      client.send("GET /\(range.lowerBound)-\(range.upperBound) HTTP/1.1\r\nHost: h\r\n\r\n")
      let response = try client.readResponse()
      #expect(response.status == 200)
      #expect(response.body == Array(bytes[range.clamped(to: 0..<bytes.count)]))
    }
    client.send("HEAD /10-20 HTTP/1.1\r\nHost: h\r\n\r\nGET /1-2 HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(try client.readResponse(isHead: true).header("Content-Length") == "10")
    #expect(try client.readResponse().body == [bytes[1]])
  }

  @Test("is none where there is no file that can be read")
  func missing() { for path in [path, "/", "/dev/null"] { #expect(HTTPFile(path: path) == nil) } }

  @Test("is none where there is a named pipe, which nobody waits for", .timeLimit(.minutes(1)))
  func pipe() throws {
    #expect(mkfifo(path, 0o600) == 0)
    defer { try? FileManager.default.removeItem(atPath: path) }
    #expect(HTTPFile(path: path) == nil)
  }
}
