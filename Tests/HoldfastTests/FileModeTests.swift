import Foundation
import Testing

@testable import Holdfast

@Suite("Modes of files", .serialized)
struct FileModeTests {
  /// The mode of each file and folder in a folder, by its path.
  private static func modes(_ folder: URL) throws -> [(path: String, mode: mode_t)] {
    try FileManager.default.subpathsOfDirectory(atPath: folder.path).sorted().map { path in
      var status = stat()
      #expect(lstat(folder.appendingPathComponent(path).path, &status) == 0)
      return (path, status.st_mode & 0o777)
    }
  }

  @Test("what the library makes on a device is its owner's alone, whatever the umask is (I10)")
  func modes() async throws {
    // Of the whole process: other tests make files meanwhile, and mind none of them.
    let before = umask(0)
    defer { umask(before) }
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "holdfast-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appendingPathComponent("app.db").path
    let store = try Store(path: path, schema: #require(Fixture.schema))
    try await store.write { try $0.insert(List(id: IDs.list, title: "Home")) }
    try PageFiles(database: path).save(UnsafeBufferPointer(start: nil, count: 0), name: "page")
    let snapshots = SnapshotDownloads(database: path)
    try snapshots.begin("zone", SnapshotProgress(tag: "\"1\"", digest: "x", total: 3))
    try snapshots.append([1, 2], to: "zone")
    #expect(snapshots.progress("zone")?.size == 2)
    let found = try Self.modes(folder)
    #expect(
      found.map(\.path).prefix(5) == [
        "app.db", "app.db-pages", "app.db-pages/page", "app.db-shm", "app.db-snapshots",
      ])
    for (path, mode) in found {
      #expect(mode == (path.hasSuffix("-pages") || path.hasSuffix("-snapshots") ? 0o700 : 0o600), "\(path)")
    }
    await store.close()
  }

  @Test("a database that is there keeps its mode, and the locks that this process has on it")
  func existing() async throws {
    let fixture = try Fixture()
    #expect(chmod(fixture.path, 0o640) == 0)
    let second = try Store(path: fixture.path, schema: #require(Fixture.schema))
    try await second.write { try $0.insert(List(id: IDs.list, title: "Home")) }
    #expect(try await fixture.value("SELECT count(*) FROM lists") == 1)
    var status = stat()
    #expect(lstat(fixture.path, &status) == 0 && status.st_mode & 0o777 == 0o640)
    #expect(access(fixture.path + "-new", F_OK) != 0)
    await second.close()
  }
}
