import HoldfastCore
import HoldfastHTTP
import HoldfastService

extension API {
  /// `GET /v1/account/export`: docs/EXPORT-AND-ERASURE.md.
  ///
  /// - Parameter table: the index of the table that is wanted as CSV; nil for all tables, as JSON Lines.
  func export(_ request: HTTPRequest, table: Int?) throws -> Step {
    let parameters = try QueryParameters(request)
    try parameters.requireOnly("after")
    let place = try parameters["after"].map { text throws(Problem) in
      guard let place = AccountExport.Place(text, in: schema) else {
        throw Problem(.invalidRequest, "after must be as the server gave it.")
      }
      return place
    }
    return try read { reader in
      let user = try device(of: request, reader).key.user
      return try reader.store.transaction {
        let export = AccountExport(
          schema: schema, user: user, tables: table.map { [$0] } ?? Array(schema.tables.indices))
        var lines = ExportLines(schema, table: table)
        if place == nil { try lines.writeHead(of: user, reader.store) }
        let next = try export.read(reader.store, after: place) { record in
          lines.write(record)
          return lines.bytes.count < environment.answerSize
        }
        var headers = [
          (name: "Content-Type", value: ExportLines.mediaType(table)), ("Cache-Control", "no-store"),
        ]
        if let next {
          let path = table.map { "/\(schema.tables[$0].name)" } ?? ""
          headers.append(
            (
              "Link",
              "</v1/account/export\(path)?after=\(percentEncoded(next.text(in: schema)))>; rel=\"next\""
            ))
        }
        return .answer(HTTPResponse(status: 200, headers: headers, body: lines.bytes))
      }
    }
  }
}
