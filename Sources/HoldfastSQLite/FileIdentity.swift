import HoldfastSystem

/// Which file a path leads to: another one of the same name is not it.
struct FileIdentity: Equatable {
  private let device: UInt64
  private let number: UInt64

  /// Looks a file up; nil when there is none.
  init?(path: String) {
    guard let identity = System.identity(ofFile: path) else { return nil }
    (device, number) = identity
  }
}
