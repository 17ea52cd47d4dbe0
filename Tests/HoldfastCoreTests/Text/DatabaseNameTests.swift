import HoldfastCore
import Testing

@Suite struct DatabaseNameTests {
  @Test func `a database is called by up to 32 of a-z, 0-9, _ and -, from a letter on`() {
    for name in [
      "a", "school", "b-2_c", "con1", "com", "com10", "comx", "lpt", String(repeating: "a", count: 32),
    ] {
      #expect(DatabaseName.isValid(name), "\(name)")
    }
    for name in [
      "", "1a", "-a", "_a", "A", "a.b", "a/b", "é", "a ", "a\0", "com\u{0661}",
      String(repeating: "a", count: 33),
    ] {
      #expect(!DatabaseName.isValid(name), "\(name)")
    }
  }

  @Test func `what folders, SQLite and Windows need for themselves is no name of a database`() {
    for name in ["home", "main", "temp", "folder", "aux", "con", "nul", "prn", "com1", "com0", "lpt9"] {
      #expect(!DatabaseName.isValid(name), "\(name)")
    }
  }
}
