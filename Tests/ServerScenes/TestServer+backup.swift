import Foundation
package import HoldfastCore
package import HoldfastServer

extension TestServer {
  /// Writes a backup, and gives the file.
  package func backUp() throws -> String {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let path = folder.appendingPathComponent("backup-\(world.id())").path
    _ = try Backup(location, environment: world.environment).write(to: path)
    return path
  }

  package func makeEmptyLocation() throws -> DatabaseLocation {
    try Engine.used.makeLocation(in: folder.appendingPathComponent("empty-\(world.id())"))
  }

  /// A server on what a backup holds; of now, unless given.
  package func restored(_ backup: String? = nil, schema: SyncSchema? = nil) throws -> TestServer {
    let path = try backup ?? backUp()
    let server = try TestServer(
      schema,
      location: { folder in
        let place = try Engine.used.makeLocation(in: folder)
        _ = try Restore(place, environment: self.world.environment).run(path)
        return place
      })
    // Its ids and tokens are others.
    server.world.advance(3_600_000)
    _ = server.world.random(100_003)
    return server
  }
}
