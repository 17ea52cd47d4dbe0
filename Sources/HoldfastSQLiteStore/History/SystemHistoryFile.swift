import HoldfastService

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The file `holdfast.history` of a data directory.
package final class SystemHistoryFile: HistoryFile {
  private let path: String
  private var descriptor: Int32?

  package init(_ directory: DataDirectory) { path = directory.history }

  deinit { if let descriptor { close(descriptor) } }

  package func read() throws -> [UInt8]? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    if file < 0, errno == ENOENT { return nil }
    guard file >= 0 else { throw failure("read") }
    defer { close(file) }
    // One byte more than the size of a mark, so that a longer file is recognized as invalid.
    var bytes = [UInt8](repeating: 0, count: HistoryMark.size + 1)
    let count = pread(file, &bytes, bytes.count, 0)
    guard count >= 0 else { throw failure("read") }
    return Array(bytes.prefix(count))
  }

  package func write(_ bytes: [UInt8], isSynced: Bool) throws {
    let file = try opened()
    guard pwrite(file, bytes, bytes.count, 0) == bytes.count else { throw failure("written") }
    guard isSynced else { return }
    guard ftruncate(file, off_t(bytes.count)) == 0, fsync(file) == 0 else { throw failure("written") }
    try syncFolder(of: path)
  }

  private func opened() throws -> Int32 {
    if let descriptor { return descriptor }
    let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw failure("written") }
    descriptor = file
    return file
  }

  private func failure(_ doing: String) -> ServerError {
    ServerError(.unreachable, "\(path) can't be \(doing): \(systemMessage(errno)).")
  }
}
