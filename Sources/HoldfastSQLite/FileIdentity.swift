#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The identity of the file at a path, which differs from that of another file with the same name.
struct FileIdentity: Equatable {
  private let device: dev_t
  private let number: ino_t

  /// Looks up a file; nil if there is none.
  init?(path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    (device, number) = (status.st_dev, status.st_ino)
  }
}
