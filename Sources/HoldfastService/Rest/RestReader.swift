package import HoldfastCore

/// Parses REST bodies and checks them against the schema: PROTOCOL.md, section 9.2.
///
/// Malformed JSON or a wrong overall form throws. An invalid item becomes a problem of that item.
package struct RestReader {
  /// The maximum number of items per request.
  static let itemLimit = 1000

  package let schema: SyncSchema
  /// Creates the id of a record that was sent without one.
  package let newID: () -> String

  package init(schema: SyncSchema, newID: @escaping () -> String) {
    (self.schema, self.newID) = (schema, newID)
  }

  /// The items of a body, and how they relate.
  package typealias Content = (form: RestCommand.Form, items: [Result<RestItem, Problem>])

  /// The facts about an item that its position in the request decides.
  private struct Place {
    /// The permitted members.
    let members: Members
    var verb: RestItem.Verb?
    var table: Int?
    var id: String?
    var condition: RestItem.Condition?
  }

  // MARK: Bodies

  /// The body of `POST /v1/tables/{table}`: one record, or many.
  package func creations(in table: Int, _ body: [UInt8]) throws(Problem) -> Content {
    let place = Place(members: [.id, .zone, .columns], verb: .create, table: table)
    return try read(body, List(member: .records, place: place)) { fields, list in
      if fields.present.contains(.records) { return try many(fields, list, isAtomic: false) }
      return (.single, [item(fields, place)])
    }
  }

  /// The body of `PATCH /v1/tables/{table}`.
  package func updates(in table: Int, _ body: [UInt8]) throws(Problem) -> Content {
    let place = Place(members: [.id, .rev, .columns, .base, .at, .ifMatch], verb: .update, table: table)
    return try read(body, List(member: .records, place: place)) { fields, list in
      try many(fields, list, isAtomic: false)
    }
  }

  /// The body of `POST /v1/batch`.
  package func batch(_ body: [UInt8]) throws(Problem) -> Content {
    let place = Place(members: [.op, .table, .id, .rev, .zone, .columns, .base, .at, .ifMatch])
    return try read(body, List(member: .operations, place: place)) { fields, list in
      try many(fields, list, isAtomic: true)
    }
  }

  /// The body of a request to the URL of one record.
  package func one(
    _ verb: RestItem.Verb, _ table: Int, _ id: String, _ condition: RestItem.Condition?, _ body: [UInt8]
  ) throws(Problem) -> Content {
    let members: Members =
      switch verb {
      case .update: [.columns, .rev, .base, .at]
      case .replace: [.columns, .rev, .zone]
      case .create, .delete, .restore, .resolve: [.columns]
      }
    let place = Place(members: members, verb: verb, table: table, id: id, condition: condition)
    return try read(body, List(member: [], place: place)) { fields, _ in (.single, [item(fields, place)]) }
  }

  /// Deletes of records, by id only.
  package func deletions(in table: Int, _ ids: [String], _ condition: RestItem.Condition? = nil) -> [Result<
    RestItem, Problem
  >] {
    ids.map { id in
      item(RestFields(), Place(members: [], verb: .delete, table: table, id: id, condition: condition))
    }
  }

  private func read(
    _ body: [UInt8], _ list: List, _ content: (RestFields, List) throws -> Content
  ) throws(Problem) -> Content {
    var read: Content = (.each, [])
    try readJSON(body) { reader in
      guard try reader.peekKind() == .object else { throw Problem(.invalidRequest, "The body is an object.") }
      var (fields, list) = (RestFields(), list)
      try reader.readObject { key, reader in
        let member = Members(key)
        if let member, member == list.member, try reader.peekKind() == .array {
          fields.present.insert(member)
          list.items = try items(&reader, list)
        } else {
          try fields.take(member, key, from: &reader)
        }
      }
      read = try content(fields, list)
    }
    return read
  }

  /// The list of items in a body.
  private struct List {
    /// The member that has it; none for a body without.
    let member: Members
    let place: Place
    /// Nil where the member is no array.
    var items: [Result<RestItem, Problem>]?
  }

  private func items(_ reader: inout JSONReader, _ list: List) throws -> [Result<RestItem, Problem>] {
    var items: [Result<RestItem, Problem>] = []
    try reader.readArray { reader in
      if items.count == Self.itemLimit {
        throw Problem(.invalidRequest, "\(list.member) has more than \(Self.itemLimit) items.")
      }
      guard try reader.peekKind() == .object else {
        items.append(.failure(Problem(.invalidOperation, "An item is an object.")))
        return try reader.skipValue()
      }
      var fields = RestFields()
      try reader.readObject { key, reader in try fields.take(Members(key), key, from: &reader) }
      items.append(item(fields, list.place))
    }
    return items
  }

  private func many(_ fields: RestFields, _ list: List, isAtomic: Bool) throws -> Content {
    if let other = fields.first(besides: [list.member, .atomic]) {
      throw Problem(.invalidRequest, "\(other) is not known beside \(list.member).")
    }
    if fields.wrong.contains(.atomic) { throw Problem(.invalidRequest, "atomic is true or false.") }
    guard let items = list.items else {
      throw Problem(.invalidRequest, "\(list.member) must be an array of objects.")
    }
    return (fields.atomic ?? isAtomic ? .atomic : .each, items)
  }

  // MARK: Items

  private func item(_ fields: RestFields, _ place: Place) -> Result<RestItem, Problem> {
    do { return .success(try checked(fields, place)) } catch let problem as Problem {
      return .failure(problem)
    } catch let error as JSONError {
      // The grammar was checked before. The remaining case is a number beyond the finite doubles.
      return .failure(Problem(.invalidValue, error.description))
    } catch { return .failure(Problem(.invalidOperation)) }
  }

  private func checked(_ fields: RestFields, _ place: Place) throws -> RestItem {
    if let name = fields.first(besides: place.members) {
      throw Problem(
        .invalidOperation, "Unknown member \"\(name.prefix(64))\". Put column values inside \"columns\".")
    }
    if !fields.wrong.isEmpty { throw Problem(.invalidOperation, "\(fields.wrong) has a wrong type.") }
    guard let verb = place.verb ?? fields.verb.flatMap(RestItem.Verb.init), verb != .resolve else {
      throw Problem(.invalidOperation, "op must be create, update, replace, delete or restore.")
    }
    let index = try place.table ?? table(fields.table)
    let table = schema.tables[index]
    if table.zone == .server, verb != .update { throw Problem(.readOnlyTable, table.name) }
    let id = try self.id(place.id ?? fields.id, verb, table)
    try checkMembers(fields, verb, table)
    let (settings, patches, changes) = try settings(fields, verb, table)
    try table.checkWritable(settings)
    let kind: RecordOperation.Kind =
      switch verb {
      case .update, .resolve: .update
      case .delete: .delete
      case .create, .replace, .restore: .create
      }
    return RestItem(
      verb: verb,
      operation: RecordOperation(
        // Without a rev, the operation is based on the record's state when it is applied. Without a time, its stamp is the time of arrival.
        kind: kind, table: index, id: id, rev: fields.rev ?? .max, stamp: try stamp(fields),
        settings: settings, zone: fields.zone, isExplicitRestore: verb == .restore,
        hasNewID: place.id == nil && fields.id == nil),
      condition: place.condition ?? fields.ifMatch, patches: patches,
      increments: changes.increments, places: changes.places)
  }

  private func table(_ name: String?) throws(Problem) -> Int {
    guard let name else { throw Problem(.invalidOperation, "table is missing.") }
    guard let index = schema.index(called: name) else { throw Problem(.unknownTable, name) }
    return index
  }

  private func id(_ given: String?, _ verb: RestItem.Verb, _ table: TableSchema) throws(Problem) -> String {
    guard let given else {
      if verb == .create { return newID() }
      throw Problem(.invalidOperation, "id is missing.")
    }
    // Records that SQL created may have ids other than UUIDs; new records may not.
    guard verb == .create ? Identifier.isUUID(given) : Identifier.isPossible(given) else {
      throw Problem(.invalidID, "id of an operation on \(table.name).")
    }
    return given
  }

  /// The time of an update, as stated by the client. A time in the future is lowered to the time of arrival, as for devices.
  private func stamp(_ fields: RestFields) throws(Problem) -> Stamp {
    guard let at = fields.at else { return Stamp(rawValue: .max) }
    guard let milliseconds = Timestamp.milliseconds(at), milliseconds >= 0 else {
      throw Problem(.invalidOperation, "at must be a time since 1970, like 2026-11-21T10:00:00.000Z.")
    }
    return Stamp(milliseconds: milliseconds)
  }

  /// The values that the client saw in the columns before; nil if it does not say.
  private func bases(
    _ fields: RestFields, _ table: TableSchema, of values: [Value?]
  ) throws -> [Value?]? {
    guard let base = fields.base else { return nil }
    var bases = [Value?](repeating: nil, count: table.columns.count)
    try JSONReader.read(base) { reader in
      try reader.readObject { key, reader in
        guard let index = table.index(called: key) else {
          throw Problem(.unknownColumn, "\(table.name) has no column \(key.string.prefix(64)).")
        }
        guard values[index] != nil else {
          throw Problem(
            .invalidOperation, "base has \(table.columns[index].name), of which columns has no value.")
        }
        if bases[index] != nil { throw table.namedTwice(index) }
        bases[index] = try table.columns[index].value(from: &reader)
      }
    }
    return bases
  }

  private func checkMembers(_ fields: RestFields, _ verb: RestItem.Verb, _ table: TableSchema) throws(Problem)
  {
    func refuse(_ name: String) -> Problem {
      Problem(.invalidOperation, "\(name) says nothing of op \(verb.rawValue).")
    }
    if fields.rev != nil, verb == .create || verb == .restore { throw refuse("rev") }
    if fields.ifMatch != nil, verb == .create || verb == .restore { throw refuse("if_match") }
    if fields.columns != nil, verb == .delete { throw refuse("columns") }
    if fields.base != nil, verb != .update { throw refuse("base") }
    if fields.at != nil, verb != .update { throw refuse("at") }
    if let rev = fields.rev, rev < 0 { throw Problem(.invalidOperation, "A rev must not be negative.") }
    if case .rev(let rev)? = fields.ifMatch, rev < 0 {
      throw Problem(.invalidOperation, "A rev must not be negative.")
    }
    if let zone = fields.zone {
      if verb == .update || verb == .delete { throw refuse("zone") }
      if table.zone != .explicit {
        throw Problem(.invalidOperation, "The zone of a record in \(table.name) follows from its columns.")
      }
      if !Identifier.isPossible(zone) { throw Problem(.invalidID, "zone of a record in \(table.name).") }
    } else if verb == .create, table.zone == .explicit {
      throw Problem(.valueMissing, "zone is required in \(table.name).")
    }
  }

  private func settings(
    _ fields: RestFields, _ verb: RestItem.Verb, _ table: TableSchema
  ) throws -> ([RecordOperation.Setting], patches: [Int], ChangesInPlace) {
    var changes = ChangesInPlace()
    if verb == .delete { return ([], [], changes) }
    guard let columns = fields.columns else { throw Problem(.invalidOperation, "columns is missing.") }
    var values = try table.values(in: columns) { key, reader in
      if verb == .update, let increment = try RestIncrement(key, of: table, &reader) {
        if changes.increments.contains(where: { $0.column == increment.column }) {
          throw table.namedTwice(increment.column)
        }
        changes.increments.append(increment)
        return true
      }
      guard try reader.peekKind() == .object,
        let index = table.index(called: key), table.columns[index].type == .position
      else { return false }
      if changes.places[index] != nil { throw table.namedTwice(index) }
      changes.places[index] = try RestItem.Place(&reader, table.columns[index].name)
      return true
    }
    if let increment = changes.increments.first(where: { values[$0.column] != nil }) {
      throw table.namedTwice(increment.column)
    }
    let bases = try bases(fields, table, of: values)
    // A placeholder. The position is filled in when the item is applied.
    for column in changes.places.keys { values[column] = .text("") }
    if verb != .update { values = try table.completed(values) }
    var (settings, patches): ([RecordOperation.Setting], [Int]) = ([], [])
    settings.reserveCapacity(values.count)
    for (column, value) in values.enumerated() {
      guard let value else { continue }
      settings.append(RecordOperation.Setting(column: column, value: value, base: bases?[column] ?? nil))
      if verb == .update, table.columns[column].type == .json,
        value.text?.utf8.first == UInt8(ascii: "{")
      {
        patches.append(column)
      }
    }
    return (settings, patches, changes)
  }
}

/// The columns of an item whose new value depends on the current one. They are computed when the item is applied.
private struct ChangesInPlace {
  var increments: [RestIncrement] = []
  var places: [Int: RestItem.Place] = [:]
}

extension RestItem.Place {
  /// Parses `{"after": ID}`, `{"before": ID}`, `{"at": "first"}` or `{"at": "last"}`.
  ///
  /// - Throws: `Problem.invalidValue` naming the column.
  fileprivate init(_ reader: inout JSONReader, _ column: String) throws {
    var members: [(name: String, value: String?)] = []
    try reader.readObject { key, reader in
      guard members.count < 2 else { return try reader.skipValue() }
      if try reader.peekKind() == .string {
        members.append((key.string, try reader.readString()))
      } else {
        members.append((key.string, nil))
        try reader.skipValue()
      }
    }
    switch (members.count, members.first?.name, members.first?.value) {
    case (1, "after", let id?) where Identifier.isPossible(id): self = .after(id)
    case (1, "before", let id?) where Identifier.isPossible(id): self = .before(id)
    case (1, "at", "first"): self = .first
    case (1, "at", "last"): self = .last
    default:
      throw Problem(
        .invalidValue,
        "\(column) is a position, {\"after\": ID}, {\"before\": ID}, {\"at\": \"first\"} or {\"at\": \"last\"}."
      )
    }
  }
}
