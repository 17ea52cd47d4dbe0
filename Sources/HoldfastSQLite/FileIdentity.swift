internal import CSQLite
import HoldfastSystem

/// The identity of the file at a path, which differs from that of another file with the same name.
struct FileIdentity: Equatable {
  private let device: UInt64
  private let number: UInt64

  /// Looks up a file; nil if there is none.
  init?(path: String) {
    #if os(Linux)
      var (device, number): (sqlite3_uint64, sqlite3_uint64) = (0, 0)
      if holdfast_identify_file(path, &device, &number) != 0 {
        (self.device, self.number) = (device, number)
        return
      }
    #endif
    guard let identity = System.identity(ofFile: path) else { return nil }
    (self.device, self.number) = identity
  }
}
