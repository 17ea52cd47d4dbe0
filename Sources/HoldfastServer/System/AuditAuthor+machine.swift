import HoldfastService

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

extension AuditAuthor {
  /// The name of this machine.
  static var machine: String {
    var name = [CChar](repeating: 0, count: 256)
    guard gethostname(&name, name.count - 1) == 0, name[0] != 0 else { return "unnamed" }
    return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
