#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// A path without symbolic links, `.` and `..`.
struct RealPath {
  private let bytes: [UInt8]

  /// The path of what is there; nil if there is nothing.
  init?(_ path: String) {
    guard let found = realpath(path, nil) else { return nil }
    defer { free(found) }
    bytes = Array(String(cString: found).utf8)
  }

  /// The path of a file or folder; while that is missing, the path that it would have.
  static func future(_ path: String) -> RealPath? {
    if let found = RealPath(path) { return found }
    var parts = path.split(separator: "/")
    guard let name = parts.popLast() else { return nil }
    let root = path.utf8.first == UInt8(ascii: "/") ? "/" : "./"
    return future(root + parts.joined(separator: "/")).map {
      RealPath(bytes: $0.bytes + Array("/\(name)".utf8))
    }
  }

  private init(bytes: [UInt8]) { self.bytes = bytes }

  /// The path, for people.
  var text: String { String(decoding: bytes, as: UTF8.self) }

  /// Whether it is hidden in a folder that it is in: one of the names from there on begins with a dot.
  func isHidden(in folder: RealPath) -> Bool {
    bytes[folder.bytes.count...].split(separator: UInt8(ascii: "/")).contains {
      $0.first == UInt8(ascii: ".")
    }
  }

  /// Whether it is a folder, or in it.
  func isIn(_ folder: RealPath) -> Bool {
    guard bytes.starts(with: folder.bytes) else { return false }
    let slash = UInt8(ascii: "/")
    return bytes.count == folder.bytes.count || folder.bytes.last == slash
      || bytes[folder.bytes.count] == slash
  }
}
