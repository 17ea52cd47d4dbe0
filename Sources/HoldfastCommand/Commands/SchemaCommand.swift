import HoldfastCore
import HoldfastRecords
import HoldfastSQLiteStore
import HoldfastServer

/// `holdfast schema`: checks a schema, and prints it or the tables made from it.
enum SchemaCommand: Subcommand {
  static let form = CommandForm(
    name: "schema",
    summary:
      "Checks a schema file, says what a change of it does, or adopts the tables of a PostgreSQL database.",
    arguments: "FILE | adopt | diff OLD NEW | prune", argumentCount: 0...3,
    options: [
      .init(
        name: "print", value: "sql|postgres|json",
        help: "Print the server's tables in SQLite or PostgreSQL, or the schema with all that is implied"),
      .init(name: "swift", value: nil, help: "Print the record types for an app in Swift"),
      .init(name: "typescript", value: nil, help: "Print the record types for a program in TypeScript"),
      .init(name: "problems", value: nil, help: "Print the table of problems instead; takes no FILE"),
      .init(
        name: "json-schema", value: nil,
        help: "Print a JSON Schema of schema files for editors instead; takes no FILE"),
    ] + .database + AdoptCommand.options + SchemaDiff.options,
    notes: AdoptCommand.notes + "\n\n" + SchemaDiff.notes)

  static func run(_ options: Options) throws -> Int32 {
    if options.has("problems") {
      Output.shared.text(ProblemTable.markdown)
      return 0
    }
    if options.has("json-schema") {
      Output.shared.text(SchemaFile.jsonSchema.formatted())
      return 0
    }
    if options.arguments.first == "adopt" { return try AdoptCommand.run(options) }
    if let option = AdoptCommand.options.first(where: { options.has($0.name) }) {
      throw UsageError("--\(option.name) goes with holdfast schema adopt.")
    }
    if options.arguments.first == "diff" { return try SchemaDiff.run(options) }
    if options.arguments.first == "prune" { return try SchemaDiff.prune(options) }
    guard options.arguments.count == 1, let path = options.arguments.first else {
      throw UsageError("Name one schema file.")
    }
    let schema = try readSchema(path)
    if ["swift", "typescript", "print"].filter(options.has).count > 1 {
      throw UsageError("Give one of --swift, --typescript and --print.")
    }
    if options.has("swift") {
      Output.shared.text(try SwiftSource(schema).text())
      return 0
    }
    if options.has("typescript") {
      Output.shared.text(try TypeScriptSource(schema).text())
      return 0
    }
    switch options["print"] {
    case nil:
      let own = schema.tables.filter { !$0.isBuiltIn }
      Output.shared.set("tables", own.count)
      Output.shared.set("columns", own.reduce(0) { $0 + $1.columns.count })
      print("\(path) is good: \(own.count) tables, \(own.reduce(0) { $0 + $1.columns.count }) columns.")
    case "sql": Output.shared.text(schema.serverSQL)
    case "postgres": Output.shared.text(schema.postgresSQL)
    case "json": Output.shared.text(String(decoding: schema.json.bytes, as: UTF8.self))
    case let other?: throw UsageError("--print takes sql, postgres or json, not \"\(other)\".")
    }
    return 0
  }
}
