package import HoldfastCore

/// A query of a table: PROTOCOL.md, section 9.5. Parsed and planned without a database.
package struct RecordQuery: Equatable {
  /// One key of the order; a nil column means the id.
  package struct Order: Equatable {
    package let column: Int?
    package let isDescending: Bool
  }

  static let pageLimit = 1000
  /// The maximum number of combinations of the values of all `in`: an index is searched for each.
  static let combinationLimit = 2000

  /// The index of the table in the schema.
  package let table: Int
  package private(set) var zone: String?
  package private(set) var filters: [RecordFilter] = []
  package private(set) var order: [Order] = []
  /// The number of records per page.
  package private(set) var limit = 100
  /// The indexes of the columns to show, in this order; nil for all.
  package private(set) var columns: [Int]?
  package private(set) var counts = false
  /// The index of the position column whose ranks are shown.
  package private(set) var rank: Int?
  /// The index that serves the filters; nil without filters.
  package private(set) var index: TableIndex?
  /// Whether the query covers the whole collection, so that later changes can be computed.
  package private(set) var isWhole = true

  /// Parses the parameters of a request.
  ///
  /// - Throws: `Problem`: `invalidRequest`, `unknownColumn`, `invalidValue`, `indexMissing`.
  package init(_ parameters: QueryParameters, of table: Int, in schema: SyncSchema) throws(Problem) {
    self.table = table
    let definition = schema.tables[table]
    for item in parameters.items {
      switch item.name {
      case "zone": zone = item.value
      case "limit": limit = try parameters.number("limit", in: 1...Self.pageLimit) ?? limit
      case "order": order = try Self.order(item.value, of: definition)
      case "columns": columns = try Self.columns(item.value, of: definition)
      case "rank": rank = try definition.rankColumn(item.value)
      case "count":
        guard let flag = Bool(item.value) else {
          throw Problem(.invalidRequest, "count must be true or false.")
        }
        counts = flag
      case _ where item.name.hasPrefix("where."):
        filters += try RecordFilter.read(item, of: definition)
      default: throw QueryParameters.unknown(item.name)
      }
      if item.name != "zone", item.name != "columns" { isWhole = false }
    }
    try requireFewCombinations()
    if !filters.isEmpty { index = try Self.plan(filters, table, schema) }
  }

  private func requireFewCombinations() throws(Problem) {
    var count = 1
    for case .among(let values) in filters.map(\.test) {
      // A filter has at most 200 values, so the product does not overflow before it is compared.
      count *= max(1, values.count)
      if count > Self.combinationLimit {
        throw Problem(
          .invalidValue,
          "The values of all \"in\" have more than \(Self.combinationLimit) combinations: ask in several requests."
        )
      }
    }
  }

  private static func order(_ text: String, of table: TableSchema) throws(Problem) -> [Order] {
    var order: [Order] = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let isDescending = part.first == "-"
      let name = String(isDescending ? part.dropFirst() : part)
      let column = try name == "id" ? nil : find(name, in: table)
      if let column, table.columns[column].type == .json {
        throw Problem(.invalidValue, "\(name): values of type json have no order.")
      }
      if order.contains(where: { $0.column == column }) {
        throw Problem(.invalidRequest, "order names \(name) twice.")
      }
      order.append(Order(column: column, isDescending: isDescending))
    }
    return order
  }

  private static func columns(_ text: String, of table: TableSchema) throws(Problem) -> [Int] {
    var columns: [Int] = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let column = try find(String(part), in: table)
      if columns.contains(column) { throw Problem(.invalidRequest, "columns names \(part) twice.") }
      columns.append(column)
    }
    return columns
  }

  private static func find(_ name: String, in table: TableSchema) throws(Problem) -> Int {
    guard let index = table.index(called: name) else {
      throw Problem(.unknownColumn, "\(table.name) has no column \(name).")
    }
    return index
  }

  /// Finds an index that serves the filters.
  ///
  /// - Throws: `Problem.indexMissing`, which proposes an index.
  private static func plan(
    _ filters: [RecordFilter], _ table: Int, _ schema: SyncSchema
  ) throws(Problem) -> TableIndex {
    let definition = schema.tables[table]
    func name(_ filter: RecordFilter) -> String { definition.columns[filter.column].name }
    let values = TextSet(filters.filter(\.picksValues).map(name))
    var compared: [String] = []
    for filter in filters where !values.contains(name(filter)) && !compared.contains(name(filter)) {
      compared.append(name(filter))
    }
    if compared.count > 1 {
      throw Problem(
        .indexMissing,
        "One column at the most may be compared, have a prefix or null=false; these are: \(compared.joined(separator: ", "))."
      )
    }
    let fitting = schema.tableIndexes(of: table).first {
      $0.answers(values: values, compared: compared.first)
    }
    if let fitting { return fitting }
    let names = (values.sorted() + compared).map { "\"\($0)\"" }.joined(separator: ", ")
    throw Problem(.indexMissing, "\(definition.name) lacks \"indexes\": [[\(names)]].")
  }
}
