import HoldfastCore
import HoldfastServer

/// `holdfast schema diff`: reports the effects of a schema change before it is made.
enum SchemaDiff {
  static let options: [CommandForm.Option] = [
    .init(name: "drop", value: nil, help: "prune: drop what is listed, for good")
  ]

  static let notes = """
    `holdfast schema diff OLD NEW` says what becomes of whom when a server gets another schema; `diff NEW` with --data or --database compares
    with the database's, and says what its tables lack. It ends with 0 when nothing changes, 1 when the change is safe, 2 when it takes `holdfast serve --allow-removals`,
    3 when it is impossible, 4 when a file or database can't be read. `holdfast schema prune` lists what a database keeps of tables and
    columns that the schema has no longer; with --drop it drops that.
    """

  static func run(_ options: Options) throws -> Int32 {
    let files = Array(options.arguments.dropFirst())
    let hasDatabase = options.has("data") || options.has("database")
    guard files.count == (hasDatabase ? 1 : 2) else {
      throw UsageError("diff takes two schema files, or one and --data or --database.")
    }
    let location = hasDatabase ? try options.location : nil
    do {
      let new = try readSchema(files[files.count - 1])
      let report = try location?.report(of: new) ?? SchemaReport(from: readSchema(files[0]), to: new)
      print(report.text)
      Output.shared.set("verdict", .string("\(report.verdict)"))
      return report.verdict.rawValue
    } catch {
      writeError("holdfast: \(error)")
      Output.shared.finish(status: 4, error: "\(error)")
      return 4
    }
  }

  static func prune(_ options: Options) throws -> Int32 {
    guard options.arguments.count == 1 else { throw UsageError("prune takes --data or --database.") }
    let isDropped = options.has("drop")
    let found = try options.location.removedData(dropping: isDropped)
    for data in found { print(data.description) }
    Output.shared.set("dropped", .bool(isDropped && !found.isEmpty))
    Output.shared.set("found", .array(found.map { .string($0.description) }))
    print(
      found.isEmpty ? "There is nothing to drop." : isDropped ? "Dropped." : "Drop it for good with --drop.")
    return 0
  }
}
