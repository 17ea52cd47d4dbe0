import HoldfastCore
import HoldfastService

/// `holdfast.json` in a form that people edit: one line per column.
struct AdoptionText {
  private let schema: SyncSchema

  init(_ schema: SyncSchema) { self.schema = schema }

  /// The text of the file.
  var text: String {
    let tables = schema.json["tables"]?.members ?? []
    return """
      {
        "holdfast": \(SyncSchema.formatVersion),
        "name": \(line(.string(schema.name))),
        "tables": {
      \(tables.map { "    \(line(.string($0.name))): \(table($0.value))" }.joined(separator: ",\n"))
        }
      }

      """
  }

  private func table(_ value: JSONValue) -> String {
    let members = (value.members ?? []).map { member in
      let content =
        member.name == "columns"
        ? "{\n"
          + (member.value.members ?? []).map { "        \(line(.string($0.name))): \(line($0.value))" }
          .joined(separator: ",\n") + "\n      }" : line(member.value)
      return "      \(line(.string(member.name))): \(content)"
    }
    return "{\n\(members.joined(separator: ",\n"))\n    }"
  }

  /// A value on one line, with spaces for readability.
  private func line(_ value: JSONValue) -> String {
    switch value {
    case .object(let members):
      "{ " + members.map { "\(line(.string($0.name))): \(line($0.value))" }.joined(separator: ", ") + " }"
    case .array(let elements): "[" + elements.map(line).joined(separator: ", ") + "]"
    default: String(decoding: value.bytes, as: UTF8.self)
    }
  }
}
