import HoldfastCore

/// The name of a database in its directory.
enum DatabaseName {
  /// The names that folders of devices need for themselves: docs/FOLDERS.md.
  private static let reserved: TextSet = ["home", "main", "temp", "folder"]

  static let rule =
    "A database has a name of 1 to 32 of a-z, 0-9, \"_\" and \"-\", beginning with a letter, and not home, main, temp or folder."

  static func isGood(_ name: String) -> Bool {
    (1...32).contains(name.utf8.count) && !reserved.contains(name)
      && name.utf8.first.map { (0x61...0x7A).contains($0) } == true
      && name.utf8.allSatisfy {
        (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5F || $0 == 0x2D
      }
  }
}
