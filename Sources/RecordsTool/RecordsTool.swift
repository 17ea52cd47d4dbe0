import Foundation
import HoldfastCore
import HoldfastRecords

/// `RecordsTool SCHEMA OUTPUT`: writes the Swift record types of a schema. `RecordsPlugin` runs it in a build.
@main
enum RecordsTool {
  static func main() {
    let words = Array(CommandLine.arguments.dropFirst())
    guard words.count == 2 else { return fail("Usage: RecordsTool SCHEMA OUTPUT") }
    do {
      let schema = try SyncSchema(json: Array(Data(contentsOf: URL(filePath: words[0]))))
      try Data(SwiftSource(schema).text().utf8).write(to: URL(filePath: words[1]), options: .atomic)
    } catch let error as SchemaError {
      // A line that a build shows at the file.
      fail(error.faults.map { "\(words[0]): error: \($0.place): \($0.text)" }.joined(separator: "\n"))
    } catch let error as RecordSourceError {
      fail("\(words[0]): error: \(error)")
    } catch {
      fail("\(words[0]): error: \(error.localizedDescription)")
    }
  }

  private static func fail(_ text: String) {
    FileHandle.standardError.write(Data((text + "\n").utf8))
    exit(1)
  }
}
