import Foundation
import HoldfastCore
import Testing

/// The vectors that clients in other languages are tested with: docs/CLIENTS.md. `make vectors` writes them.
@Suite("Test vectors")
struct VectorTests {
  @Test("the files of Tests/Vectors are what this code makes (I7)", arguments: VectorFiles.all.map(\.name))
  func files(name: String) throws {
    let file = try #require(VectorFiles.all.first { $0.name == name })
    #expect(!file.cases.isEmpty)
    _ = try JSONValue(parsing: Array(file.text.utf8))
    let path = VectorFiles.path(of: name)
    if ProcessInfo.processInfo.environment["HOLDFAST_WRITE_VECTORS"] != nil {
      try Data(file.text.utf8).write(to: path)
    }
    let kept = try String(contentsOf: path, encoding: .utf8)
    // Not printed whole, as it is long.
    #expect(
      Array(kept.utf8) == Array(file.text.utf8),
      "Tests/Vectors/\(name).json differs. If the change is meant, run make vectors.")
  }
}
