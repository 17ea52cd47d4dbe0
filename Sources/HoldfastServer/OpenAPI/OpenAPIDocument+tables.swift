import HoldfastCore
import HoldfastService

extension OpenAPIDocument {
  /// The endpoints of a table.
  func tablePaths(_ table: TableSchema) -> [OpenAPIPath] {
    let (collection, record) = ("/v1/tables/\(table.name)", "/v1/tables/\(table.name)/{id}")
    if table.zone == .server {
      return [
        OpenAPIPath(address: collection, operations: [index(table), bulkUpdate(table)]),
        OpenAPIPath(address: record, operations: [read(table), update(table)]),
        OpenAPIPath(address: record + "/resolve", operations: [resolve(table)]),
      ]
    }
    return [
      OpenAPIPath(
        address: collection, operations: [index(table), create(table), bulkUpdate(table), bulkDelete(table)]),
      OpenAPIPath(address: record, operations: [read(table), update(table), replace(table), delete(table)]),
      OpenAPIPath(address: record + "/restore", operations: [restore(table)]),
    ]
  }

  private func component(_ table: TableSchema, _ name: String) -> JSONValue {
    OpenAPISchema.reference("\(table.name)_\(name)")
  }

  private func recordAnswer(
    _ status: Int, _ text: String, _ table: TableSchema, _ headers: [OpenAPIHeader] = [.tag]
  ) -> (
    Int, JSONValue
  ) { OpenAPIOperation.answer(status, text, component(table, "record"), headers: headers) }

  // MARK: Reading

  private func index(_ table: TableSchema) -> OpenAPIOperation {
    let page = component(table, "page")
    return OpenAPIOperation(
      method: "get", id: "index_\(table.name)", summary: "Records of \(table.name) that the user may read.",
      parameters: indexParameters(table)
        + [
          OpenAPIParameter.ifNoneMatch.reference, OpenAPIParameter.ifModifiedSince.reference,
          OpenAPIParameter.manipulation.reference,
        ],
      answers: [
        OpenAPIOperation.answer(
          200, "The first page, a later one, or the records of ids.", page,
          headers: [.tag, .lastModified, .link]),
        OpenAPIOperation.answer(226, "What changed since.", page, headers: [.tag]),
        OpenAPIOperation.empty(304, "Nothing changed."),
      ], problems: [404, 410, 422])
  }

  private func indexParameters(_ table: TableSchema) -> [JSONValue] {
    let names = table.columns.map(\.name)
    func list(_ items: [String]) -> JSONValue {
      [
        "type": "array", "minItems": 1,
        "items": ["type": "string", "enum": .array(items.map { .string($0) })],
      ]
    }
    func query(_ name: String, _ text: String, _ schema: JSONValue, isExploded: Bool = true) -> JSONValue {
      OpenAPIParameter.make(name, in: "query", text, schema, isExploded: isExploded)
    }
    return [
      query(
        "ids", "These records, and no filter.",
        [
          "type": "array", "minItems": 1, "maxItems": 200,
          "items": ["type": "string"],
        ], isExploded: false),
      query("zone", "Only this zone.", ["type": "string", "minLength": 1, "maxLength": 64]),
      query("limit", "Records on a page.", ["type": "integer", "minimum": 1, "maximum": 1000]),
      query(
        "order", "By these columns; - is descending.", list(names + names.map { "-" + $0 }), isExploded: false
      ),
      query("columns", "Only these columns.", list(names), isExploded: false),
      query("count", "Whether to say how many there are.", ["type": "boolean"]),
      query(
        "page", "From the Link of the page before.", ["type": "string", "pattern": "^[0-9A-Za-z_.-]{1,100}$"]),
    ] + rank(table)
      + table.columns.flatMap { column in
        filters(of: column).map { name, type in
          query("where." + column.name + name, "", type, isExploded: false)
        }
      }
  }

  /// The parameter `rank`, for tables with position columns.
  private func rank(_ table: TableSchema) -> [JSONValue] {
    let positions = table.columns.filter { $0.type == .position }.map(\.name)
    if positions.isEmpty { return [] }
    let schema: JSONValue = ["type": "string", "enum": .array(positions.map { .string($0) })]
    return [OpenAPIParameter.make("rank", in: "query", "Shows the place in the list, from 1.", schema)]
  }

  private func filters(of column: ColumnSchema) -> [(name: String, type: JSONValue)] {
    let value = filterValue(of: column)
    let null: (String, JSONValue) = (".null", ["type": "boolean"])
    switch column.type {
    case .json, .position: return []
    case .boolean: return [("", value), null]
    case .reference: return [("", value), (".in", OpenAPISchema.list(value, atLeast: 1, atMost: 200)), null]
    case .text, .integer, .real, .timestamp:
      let comparisons = [".gt", ".gte", ".lt", ".lte"].map { ($0, value) }
      let prefix = column.type == .text ? [(".prefix", value)] : []
      return [("", value), (".in", OpenAPISchema.list(value, atLeast: 1, atMost: 200)), null] + comparisons
        + prefix
    }
  }

  private func filterValue(of column: ColumnSchema) -> JSONValue {
    switch column.type {
    case .integer: ["type": "integer", "format": "int64"]
    case .real: ["type": "number"]
    case .boolean: ["type": "boolean"]
    case .timestamp: ["type": "string", "format": "date-time"]
    case .text, .json, .position: ["type": "string", "pattern": "^[^,\\u0000]*$"]
    case .reference: ["type": "string", "pattern": "^[^,\\u0000]{1,64}$"]
    }
  }

  private func read(_ table: TableSchema) -> OpenAPIOperation {
    OpenAPIOperation(
      method: "get", id: "read_\(table.name)", summary: "One record.",
      parameters: [OpenAPIParameter.id.reference, OpenAPIParameter.ifNoneMatch.reference] + rank(table),
      answers: [recordAnswer(200, "The record.", table), OpenAPIOperation.empty(304, "It is as it was.")],
      problems: [404, 410])
  }

  // MARK: Writing

  private static let writeProblems = [403, 404, 409, 410, 412, 421, 422, 507]
  private static let types = ["application/json"]

  private func create(_ table: TableSchema) -> OpenAPIOperation {
    OpenAPIOperation(
      method: "post", id: "create_\(table.name)", summary: "Creates a record, or many.",
      parameters: OpenAPIParameter.requestIDs + [OpenAPIParameter.preference.reference],
      body: (component(table, "creates"), Self.types),
      answers: [
        recordAnswer(201, "The record.", table, [.tag, .location]),
        OpenAPIOperation.answer(
          200, "A result for each, or a repeated request.",
          ["anyOf": [OpenAPISchema.reference("results"), component(table, "record")]]),
      ], problems: Self.writeProblems)
  }

  private func bulkUpdate(_ table: TableSchema) -> OpenAPIOperation {
    OpenAPIOperation(
      method: "patch", id: "update_many_\(table.name)", summary: "Updates many records.",
      parameters: OpenAPIParameter.requestIDs + [OpenAPIParameter.preference.reference],
      body: (component(table, "updates"), Self.types),
      answers: [OpenAPIOperation.answer(200, "A result for each.", OpenAPISchema.reference("results"))],
      problems: Self.writeProblems)
  }

  private func bulkDelete(_ table: TableSchema) -> OpenAPIOperation {
    OpenAPIOperation(
      method: "delete", id: "delete_many_\(table.name)", summary: "Deletes many records.",
      parameters: [OpenAPIParameter.ids.reference, OpenAPIParameter.atomic.reference]
        + OpenAPIParameter.requestIDs,
      answers: [OpenAPIOperation.answer(200, "A result for each.", OpenAPISchema.reference("results"))],
      problems: Self.writeProblems)
  }

  private func update(_ table: TableSchema) -> OpenAPIOperation {
    OpenAPIOperation(
      method: "patch", id: "update_\(table.name)", summary: "Changes columns: a merge patch (RFC 7396).",
      parameters: [OpenAPIParameter.id.reference, OpenAPIParameter.ifMatch.reference]
        + OpenAPIParameter.requestIDs,
      body: (component(table, "update"), Self.types + ["application/merge-patch+json"]),
      answers: [recordAnswer(200, "The record.", table)], problems: Self.writeProblems)
  }

  private func replace(_ table: TableSchema) -> OpenAPIOperation {
    OpenAPIOperation(
      method: "put", id: "replace_\(table.name)", summary: "Replaces all columns, or creates the record.",
      parameters: [
        OpenAPIParameter.id.reference, OpenAPIParameter.ifMatch.reference,
        OpenAPIParameter.ifNoneMatch.reference,
      ] + OpenAPIParameter.requestIDs,
      body: (component(table, "replace"), Self.types),
      answers: [
        recordAnswer(200, "The record.", table),
        recordAnswer(201, "The new record.", table, [.tag, .location]),
      ], problems: Self.writeProblems)
  }

  private func delete(_ table: TableSchema) -> OpenAPIOperation {
    OpenAPIOperation(
      method: "delete", id: "delete_\(table.name)", summary: "Deletes a record; always succeeds.",
      parameters: [OpenAPIParameter.id.reference, OpenAPIParameter.ifMatch.reference]
        + OpenAPIParameter.requestIDs,
      answers: [
        OpenAPIOperation.answer(200, "What stays of it.", OpenAPISchema.reference("short_form")),
        OpenAPIOperation.empty(204, "There is no such record."),
      ], problems: Self.writeProblems)
  }

  private func resolve(_ table: TableSchema) -> OpenAPIOperation {
    OpenAPIOperation(
      method: "post", id: "resolve_\(table.name)", summary: "Takes a value of a conflict into its record.",
      parameters: [OpenAPIParameter.id.reference] + OpenAPIParameter.requestIDs,
      body: (component(table, "resolve"), Self.types),
      answers: [
        OpenAPIOperation.answer(
          200, "The record that the conflict is about; the conflict, where that can't be read.",
          OpenAPISchema.reference("record_or_short_form"),
          headers: [.tag])
      ], problems: Self.writeProblems)
  }

  private func restore(_ table: TableSchema) -> OpenAPIOperation {
    OpenAPIOperation(
      method: "post", id: "restore_\(table.name)", summary: "Brings a deleted record back.",
      parameters: [OpenAPIParameter.id.reference] + OpenAPIParameter.requestIDs,
      body: (component(table, "restore"), Self.types), answers: [recordAnswer(200, "The record.", table)],
      problems: Self.writeProblems)
  }
}
