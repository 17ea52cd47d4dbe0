/// The name of a Holdfast among several: in a directory, in a folder of stores, and of its schema in the SQL of an app.
package enum DatabaseName {
  /// The database of a folder in which everything is written that no other has.
  package static let home = "home"

  package static let rule =
    "A database has a name of 1 to 32 of a-z, 0-9, \"_\" and \"-\", beginning with a letter, and not home, main, temp, folder or a device's such as con."

  /// What folders and SQLite need for themselves, and what Windows calls devices, with whichever suffix.
  private static let taken: TextSet = [home, "main", "temp", "folder", "aux", "con", "nul", "prn"]

  package static func isValid(_ name: String) -> Bool {
    (1...32).contains(name.utf8.count) && name.utf8.first.map(isLetter) == true
      && name.utf8.allSatisfy {
        isLetter($0) || isDigit($0) || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-")
      }
      && !taken.contains(name) && !isPort(name)
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }

  private static func isPort(_ name: String) -> Bool {
    name.utf8.count == 4 && (name.hasPrefix("com") || name.hasPrefix("lpt"))
      && name.utf8.last.map(isDigit) == true
  }
}
