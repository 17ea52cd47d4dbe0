import HoldfastCore
import HoldfastHTTP
import HoldfastService

/// The endpoint of exports: docs/EXPORT-AND-ERASURE.md.
struct ExportRoutes {
  let api: API

  /// `GET /v1/account/export`: docs/EXPORT-AND-ERASURE.md.
  ///
  /// - Parameter table: the index of the table to export as CSV; nil for all tables as JSON Lines.
  func export(_ request: HTTPRequest, table: Int?) throws -> Step {
    let parameters = try QueryParameters(request)
    try parameters.requireOnly("after")
    let place = try parameters["after"].map { text throws(Problem) in
      guard let place = AccountExport.Place(text, in: api.schema) else {
        throw Problem(.invalidRequest, "after must be as the server gave it.")
      }
      return place
    }
    return try api.read { reader in
      let user = try api.device(of: request, reader).key.user
      return try reader.store.transaction {
        let export = AccountExport(
          schema: api.schema, user: user, tables: table.map { [$0] } ?? Array(api.schema.tables.indices))
        var lines = ExportLines(api.schema, table: table)
        if place == nil { try lines.writeHead(of: user, reader.store) }
        let next = try export.read(reader.store, after: place) { record in
          lines.write(record)
          return lines.bytes.count < api.environment.answerSize
        }
        var headers = [
          (name: "Content-Type", value: ExportLines.mediaType(table)), ("Cache-Control", "no-store"),
        ]
        if let next {
          let path = table.map { "/\(api.schema.tables[$0].name)" } ?? ""
          headers.append(
            (
              "Link",
              "</v1/account/export\(path)?after=\(next.text(in: api.schema).percentEncoded)>; rel=\"next\""
            ))
        }
        return .answer(HTTPResponse(status: 200, headers: headers, body: lines.bytes))
      }
    }
  }
}
