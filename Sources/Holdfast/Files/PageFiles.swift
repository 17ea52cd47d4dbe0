import Foundation
import HoldfastCore

/// Where the pages of downloads that are not whole yet are kept.
///
/// A page that no row of `holdfast_pages` names is left over from a crash. A row whose page is missing begins its zone again.
package protocol PageStorage: Sendable {
  /// Writes a page; when this returns it is on disk.
  func save(_ bytes: UnsafeBufferPointer<UInt8>, name: String) throws
  /// Reads a page; nil when it is not there.
  func load(_ name: String) -> [UInt8]?
  /// Removes pages.
  func remove(_ names: [String])
  /// Removes what a crash, or an answer that failed, left over.
  func removeAll(but known: TextSet)
}

/// Pages as files, one each, in a folder beside the database.
///
/// In the database itself they would be written three times: into the log, into the file, and into its free list.
struct PageFiles: PageStorage {
  private let folder: URL

  /// The folder for a database: its path with `-pages` behind it.
  init(database path: String) { folder = URL(fileURLWithPath: path + "-pages", isDirectory: true) }

  func save(_ bytes: UnsafeBufferPointer<UInt8>, name: String) throws {
    try PrivateFile.makeFolder(folder.path)
    try PrivateFile.write(
      UnsafeRawBufferPointer(bytes), to: folder.appendingPathComponent(name).path, isDurable: true)
  }

  func load(_ name: String) -> [UInt8]? {
    // Not as `Data`, whose bytes would be copied once more.
    guard let file = fopen(folder.appendingPathComponent(name).path, "rb") else { return nil }
    defer { fclose(file) }
    var status = stat()
    guard fstat(fileno(file), &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    let size = Int(status.st_size)
    let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      count = fread(buffer.baseAddress, 1, size, file)
    }
    return bytes.count == size ? bytes : nil
  }

  func remove(_ names: [String]) {
    for name in names { try? FileManager.default.removeItem(at: folder.appendingPathComponent(name)) }
  }

  func removeAll(but known: TextSet) {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    remove(names.filter { !known.contains($0) })
  }
}
