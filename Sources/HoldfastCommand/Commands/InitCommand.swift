import HoldfastCore

/// `holdfast init`: writes an example schema.
enum InitCommand: Subcommand {
  static let form = CommandForm(
    name: "init", summary: "Writes an example schema: lists with items.", arguments: "[FILE]",
    argumentCount: 0...1,
    notes: "FILE is holdfast.json unless given. A file that is there is never written over.")

  static func run(_ options: Options) throws -> Int32 {
    let path = options.arguments.first ?? "holdfast.json"
    try writeNewFile(path, Array(example.utf8))
    Output.shared.set("file", .string(path))
    print("\(path) is written. Next: holdfast serve --schema \(path) --data data")
    return 0
  }

  /// The example schema: shared lists with items.
  static let example = """
    {
      "holdfast": 1,
      "name": "lists",
      "tables": {
        "lists": {
          "zone": "root",
          "columns": {
            "title": { "type": "text", "required": true, "max_length": 200 }
          }
        },
        "items": {
          "zone": { "parent": "list_id" },
          "columns": {
            "list_id": { "type": "reference", "to": "lists", "required": true, "on_delete": "cascade" },
            "title": { "type": "text", "required": true },
            "done": { "type": "boolean", "required": true, "default": false },
            "note": { "type": "text" },
            "position": { "type": "position", "required": true }
          }
        }
      }
    }

    """
}
