import Foundation

/// Files and folders that their owner alone may read, whatever the app's umask says.
enum PrivateFile {
  /// Makes a folder where there is none; the one that it is in must be there.
  static func makeFolder(_ path: String) throws {
    if mkdir(path, 0o700) != 0, errno != EEXIST { throw failure(path) }
  }

  /// Writes a file, in place of one that is there.
  ///
  /// - Parameter isDurable: whether it is on disk when this returns.
  static func write(_ bytes: UnsafeRawBufferPointer, to path: String, isDurable: Bool) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw failure(path) }
    let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    defer { try? file.close() }
    try file.write(contentsOf: bytes)
    if isDurable { try file.synchronize() }
  }

  /// Makes an empty database where there is none; SQLite gives the files beside it its mode. What hinders this, SQLite says.
  ///
  /// The file gets its name when it is closed already: with any descriptor of a database a process would lose all its locks on it.
  static func makeDatabase(_ path: String) {
    var status = stat()
    if lstat(path, &status) == 0 { return }
    let new = path + "-new"
    let descriptor = open(new, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return }
    close(descriptor)
    link(new, path)
    unlink(new)
  }

  private static func failure(_ path: String) -> StoreError {
    StoreError(
      .cannotOpen,
      "\(path) can not be written: \(String(cString: strerror(errno))). Allow this user to write in its folder."
    )
  }
}
