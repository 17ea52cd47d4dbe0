import HoldfastSystem

/// The identity of the file at a path, which differs from that of another file with the same name.
struct FileIdentity: Equatable {
  private let device: UInt64
  private let number: UInt64

  /// Looks up a file; nil if there is none.
  init?(path: String) {
    guard let identity = System.identity(ofFile: path) else { return nil }
    (device, number) = identity
  }
}
