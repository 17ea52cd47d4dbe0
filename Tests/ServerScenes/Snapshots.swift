import Foundation
package import HoldfastCore
package import HoldfastHTTP
package import HoldfastSQLite

extension TestDevice {
  package func snapshotRequest(
    _ zone: String, _ headers: TextMap<String> = [:], method: String = "GET"
  ) -> HTTPRequest {
    var request = TestServer.request(method, "/v1/zones/\(zone)/snapshot", [], token: token)
    for (name, value) in headers { request.headers.append(name: name, value: value) }
    return request
  }

  package func snapshot(
    _ zone: String, _ headers: TextMap<String> = [:], method: String = "GET"
  ) throws -> HTTPResponse {
    try server.respond(to: snapshotRequest(zone, headers, method: method))
  }
}

extension HTTPResponse {
  /// The content, wherever it is.
  package var content: [UInt8] { file?.bytes ?? body }

  package func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }

  /// The content as a database.
  package func opened() throws -> SQLiteConnection {
    let path = FileManager.default.temporaryDirectory
      .appendingPathComponent("holdfast-snapshot-\(UUID().uuidString).db").path
    try Data(content).write(to: URL(fileURLWithPath: path))
    let connection = try SQLiteConnection(path: path, access: .readOnly)
    _ = try connection.value("PRAGMA schema_version")
    // It stays open without its name.
    try FileManager.default.removeItem(atPath: path)
    return connection
  }
}
