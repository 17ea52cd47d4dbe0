#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Which file a path leads to: another one of the same name is not it.
struct FileIdentity: Equatable {
  private let device: dev_t
  private let number: ino_t

  /// Looks a file up; nil when there is none.
  init?(path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    (device, number) = (status.st_dev, status.st_ino)
  }
}
