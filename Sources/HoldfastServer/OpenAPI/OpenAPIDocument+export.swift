import HoldfastCore
import HoldfastService

/// The addresses of who takes the own data along; see EXPORT-AND-ERASURE.md.
extension OpenAPIDocument {
  var leavingPaths: [OpenAPIPath] {
    let all = export("export", "All that the user may read, as JSON Lines.", ExportLines.mediaType(nil))
    return [
      OpenAPIPath(address: "/v1/account", operations: [erase]),
      OpenAPIPath(address: "/v1/account/export", operations: [all]),
    ]
      + schema.tables.enumerated().map { index, table in
        let one = export(
          "export_\(table.name)", "The user's records of \(table.name), as CSV.", ExportLines.mediaType(index)
        )
        return OpenAPIPath(address: "/v1/account/export/\(table.name)", operations: [one])
      }
  }

  private var erase: OpenAPIOperation {
    OpenAPIOperation(
      method: "delete", id: "erase_account", summary: "Erases the user.",
      body: (OpenAPISchema.object([.init("password", Self.text)], required: []), Self.json),
      answers: [OpenAPIOperation.empty(204, "The account is gone.")], problems: [403, 429, 507])
  }

  private func export(_ id: String, _ summary: String, _ type: String) -> OpenAPIOperation {
    let content: [JSONValue.Member] = [.init(type, ["schema": ["type": "string"]])]
    let answer: JSONValue = [
      "description": "A part; Link names the next.", "content": .object(content),
      "headers": .object([.init(OpenAPIHeader.link.rawValue, OpenAPIHeader.link.json)]),
    ]
    return OpenAPIOperation(
      method: "get", id: id, summary: summary,
      parameters: [
        OpenAPIParameter.make("after", in: "query", "Where the part before ended.", Self.text)
      ], answers: [(200, answer)])
  }
}
