extension SyncSchema {
  /// The version of the file format of `holdfast.json`.
  public static let formatVersion: Int64 = 1

  /// Parses `holdfast.json`.
  ///
  /// - Throws: `SchemaError` with every faulty place, also for invalid JSON.
  public init(json bytes: [UInt8]) throws(SchemaError) {
    let value: JSONValue
    do { value = try JSONValue(parsing: bytes) } catch {
      throw SchemaError(faults: [.init("holdfast.json", "The file is no JSON: \(error)")])
    }
    var form = SchemaForm()
    let (name, tables) = form.read(value)
    let (version, oldestVersion) = form.versions(of: value)
    guard form.faults.isEmpty else { throw SchemaError(faults: form.faults) }
    try self.init(name: name, tables: tables, version: version, oldestVersion: oldestVersion)
  }

  /// The schema as `holdfast.json`. Parsing it gives an equal schema.
  public var json: JSONValue {
    let own = tables.filter { !$0.isBuiltIn }
    let versions = [("version", version), ("oldest_version", oldestVersion)].filter { $0.1 > 0 }
    return .object(
      [.init("holdfast", .integer(Self.formatVersion)), .init("name", .string(name))]
        + versions.map { .init($0.0, .integer($0.1)) }
        + [.init("tables", .object(own.map { .init($0.name, $0.json) }))])
  }
}

extension TableSchema {
  fileprivate var json: JSONValue {
    var members: [JSONValue.Member] = [.init("zone", zoneJSON)]
    if !was.isEmpty { members.append(.init("was", .array(was.map { .string($0) }))) }
    members.append(.init("columns", .object(columns.map { .init($0.name, $0.json) })))
    for (name, groups) in [("unique", unique), ("indexes", indexes)] where !groups.isEmpty {
      members.append(.init(name, .array(groups.map { .array($0.map { .string($0) }) })))
    }
    if roles != TableRoles() {
      members.append(
        .init(
          "roles",
          .object([
            .init("create", .string(roles.create.rawValue)), .init("update", .string(roles.update.rawValue)),
            .init("delete", .string(roles.delete.rawValue)),
          ])))
    }
    return .object(members)
  }

  private var zoneJSON: JSONValue {
    switch zone {
    case .root: "root"
    case .user: "user"
    case .parent(let column): .object([.init("parent", .string(column))])
    case .public(let name): .object([.init("public", .string(name))])
    case .explicit, .server: .null
    }
  }
}

extension ColumnSchema {
  fileprivate var json: JSONValue {
    var members: [JSONValue.Member] = [.init("type", .string(type.rawValue))]
    if let reference {
      members.append(.init("to", .string(reference.table)))
      if let onDelete = reference.onDelete {
        members.append(.init("on_delete", .string(onDelete.rawValue)))
      }
      if reference.across { members.append(.init("across", true)) }
    }
    if required { members.append(.init("required", true)) }
    if let defaultValue { members.append(.init("default", json(of: defaultValue))) }
    if let maximumLength { members.append(.init("max_length", .integer(Int64(maximumLength)))) }
    if let minimum { members.append(.init("min", .integer(minimum))) }
    if let maximum { members.append(.init("max", .integer(maximum))) }
    if !oneOf.isEmpty { members.append(.init("one_of", .array(oneOf.map { .string($0) }))) }
    if let within { members.append(.init("within", .string(within))) }
    if !was.isEmpty { members.append(.init("was", .array(was.map { .string($0) }))) }
    if policy != .latest { members.append(.init("merge", .string(policy.rawValue))) }
    return .object(members)
  }
}

extension ColumnSchema {
  /// A value of the column in the wire format.
  public func json(of value: Value) -> JSONValue {
    switch value {
    case .null: .null
    case .integer(let number): type == .boolean ? .bool(number == 1) : .integer(number)
    case .real(let number): .real(number)
    case .text(let text): type == .json ? (try? JSONValue(parsing: text)) ?? .null : .string(text)
    }
  }
}
