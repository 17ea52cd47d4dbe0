import Foundation
import HoldfastCore
import HoldfastSystem

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

  // Not as `Data`, whose bytes would be copied once more.
  func load(_ name: String) -> [UInt8]? {
    System.bytes(ofFile: folder.appendingPathComponent(name).path)
  }

  func remove(_ names: [String]) {
    for name in names { try? FileManager.default.removeItem(at: folder.appendingPathComponent(name)) }
  }

  func removeAll(but known: TextSet) {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    remove(names.filter { !known.contains($0) })
  }
}

/// Pages in memory, of a store that is there itself.
final class MemoryPages: PageStorage {
  private let pages = Locked<TextMap<[UInt8]>>([:])

  func save(_ bytes: UnsafeBufferPointer<UInt8>, name: String) {
    let bytes = [UInt8](bytes)
    pages.withLock { $0[name] = bytes }
  }
  func load(_ name: String) -> [UInt8]? { pages.withLock { $0[name] } }
  func remove(_ names: [String]) {
    pages.withLock { pages in for name in names { pages[name] = nil } }
  }
  func removeAll(but known: TextSet) {
    pages.withLock { pages in
      pages = TextMap(pages.filter { known.contains($0.key) }.map { ($0.key, $0.value) })
    }
  }
}
