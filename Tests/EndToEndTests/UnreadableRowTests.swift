import Foundation
import HoldfastSQLite
import Testing

@Suite("A record that another program wrote and the app can't read")
struct UnreadableRowTests {
  private static func jot(_ file: String, _ words: String...) throws -> (
    status: Int32, output: String, errors: String
  ) {
    let process = Process()
    process.executableURL = Programs.path("jot")
    process.arguments = words + ["--db", file]
    let (output, errors) = (Pipe(), Pipe())
    process.standardOutput = output
    process.standardError = errors
    try process.run()
    // A few lines, for which either pipe has room.
    process.waitUntilExit()
    func text(_ pipe: Pipe) -> String {
      String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    }
    return (process.terminationStatus, text(output), text(errors))
  }

  @Test("is named and left out; the others of its list can be read and written (I12)")
  func others() throws {
    let folder = try Programs.makeFolder()
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appendingPathComponent("app.db").path
    #expect(try Self.jot(file, "add", "Home", "Milk", "Bread").status == 0)
    let connection = try SQLiteConnection(path: file)
    try connection.execute("UPDATE items SET tags = '{\"a\":1}' WHERE title = 'Milk'")
    let id = try #require(try connection.value("SELECT id FROM items WHERE title = 'Milk'")?.text)
    let shown = try Self.jot(file, "items", "Home")
    #expect(shown.status == 0)
    #expect(shown.output.contains("Bread") && !shown.output.contains("Milk"))
    #expect(shown.errors.contains(id))
    #expect(try Self.jot(file, "check", "Home", "Bread").status == 0)
    #expect(try connection.value("SELECT done FROM items WHERE title = 'Bread'")?.integer == 1)
  }
}
