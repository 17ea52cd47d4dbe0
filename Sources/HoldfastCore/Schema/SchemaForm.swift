/// Parses the format of `holdfast.json`: the names and types of members. `SchemaCheck` checks their meaning.
struct SchemaForm {
  private(set) var faults: [SchemaError.Fault] = []

  mutating func read(_ value: JSONValue) -> (name: String, tables: [TableSchema]) {
    guard let members = value.members else {
      faults.append(
        .init("holdfast.json", "The file must hold an object; `holdfast init` writes an example."))
      return ("", [])
    }
    knownOnly(members, SchemaFile.members, at: "holdfast.json")
    if let value = value["$schema"] { _ = text(value, at: "$schema") }
    if value["holdfast"]?.integerValue != SyncSchema.formatVersion {
      faults.append(.init("holdfast", "Say which form this is: \"holdfast\": \(SyncSchema.formatVersion)."))
    }
    let name = text(value["name"], at: "name") ?? ""
    guard let tables = value["tables"]?.members else {
      faults.append(.init("tables", "Give an object with a member for each table."))
      return (name, [])
    }
    return (name, tables.map { table($0.value, named: $0.name) })
  }

  /// The version of the schema, and the oldest version that is served.
  mutating func versions(of value: JSONValue) -> (own: Int64, oldest: Int64) {
    (number(value["version"], at: "version") ?? 0, number(value["oldest_version"], at: "oldest_version") ?? 0)
  }

  private mutating func table(_ value: JSONValue, named name: String) -> TableSchema {
    let place = "tables.\(name)"
    guard let members = value.members else {
      faults.append(.init(place, "A table is an object with \"zone\" and \"columns\"."))
      return TableSchema(name, zone: .user, columns: [])
    }
    knownOnly(members, SchemaFile.tableMembers, at: place)
    var columns: [ColumnSchema] = []
    if let members = value["columns"]?.members {
      columns = members.map { column($0.value, named: $0.name, at: "\(place).columns.\($0.name)") }
    } else {
      faults.append(.init("\(place).columns", "Give an object with a member for each column."))
    }
    return TableSchema(
      name, zone: zone(value["zone"], at: "\(place).zone"), columns: columns,
      unique: groups(value["unique"], at: "\(place).unique"),
      indexes: groups(value["indexes"], at: "\(place).indexes"),
      roles: roles(value["roles"], at: "\(place).roles"), was: texts(value["was"], at: "\(place).was"))
  }

  /// A list of lists of column names.
  private mutating func groups(_ value: JSONValue?, at place: String) -> [[String]] {
    guard let value else { return [] }
    var groups: [[String]] = []
    for (index, group) in (value.elements ?? [.null]).enumerated() {
      guard let names = group.elements?.map(\.stringValue), !names.contains(nil) else {
        faults.append(.init("\(place).\(index)", "Give a list of lists of column names."))
        continue
      }
      groups.append(names.compactMap { $0 })
    }
    return groups
  }

  private mutating func zone(_ value: JSONValue?, at place: String) -> ZoneRule {
    switch value {
    case "root": return .root
    case "user": return .user
    case .object(let members)?:
      if members.count == 1, let text = members[0].value.stringValue {
        if members[0].name == "parent" { return .parent(text) }
        if members[0].name == "public" { return .public(text) }
      }
    default: break
    }
    faults.append(.init(place, "Choose \"root\", \"user\", {\"parent\": COLUMN} or {\"public\": NAME}."))
    return .user
  }

  private mutating func roles(_ value: JSONValue?, at place: String) -> TableRoles {
    var roles = TableRoles()
    guard let value else { return roles }
    guard let members = value.members else {
      faults.append(.init(place, "Give an object with create, update and delete."))
      return roles
    }
    for member in members {
      let role = choice(member.value, of: Role.self, at: "\(place).\(member.name)") ?? .editor
      switch member.name {
      case "create": roles.create = role
      case "update": roles.update = role
      case "delete": roles.delete = role
      default:
        faults.append(
          .init("\(place).\(member.name)", "Only create, update and delete have roles; leave it out."))
      }
    }
    return roles
  }

  private mutating func column(_ value: JSONValue, named name: String, at place: String) -> ColumnSchema {
    guard let members = value.members else {
      faults.append(.init(place, "A column is an object with \"type\"."))
      return ColumnSchema(name, .text)
    }
    knownOnly(members, SchemaFile.columnMembers, at: place)
    let type = choice(value["type"] ?? .null, of: ColumnType.self, at: "\(place).type") ?? .text
    var column = ColumnSchema(name, type)
    column.required = flag(value["required"], at: "\(place).required")
    column.maximumLength = number(value["max_length"], at: "\(place).max_length").flatMap { Int(exactly: $0) }
    column.minimum = number(value["min"], at: "\(place).min")
    column.maximum = number(value["max"], at: "\(place).max")
    column.oneOf = texts(value["one_of"], at: "\(place).one_of")
    column.was = texts(value["was"], at: "\(place).was")
    if let policy = value["merge"] {
      column.policy = choice(policy, of: MergePolicy.self, at: "\(place).merge") ?? .latest
    }
    if let target = value["to"].flatMap({ text($0, at: "\(place).to") }) {
      let onDelete = value["on_delete"].flatMap {
        choice($0, of: Reference.OnDelete.self, at: "\(place).on_delete")
      }
      column.reference = Reference(
        to: target, onDelete: onDelete, across: flag(value["across"], at: "\(place).across"))
    } else {
      for name in ["on_delete", "across"] where value[name] != nil {
        faults.append(
          .init("\(place).\(name)", "Only a reference, which says \"to\", has this; leave it out."))
      }
    }
    column.within = value["within"].flatMap { text($0, at: "\(place).within") }
    if let value = value["default"] {
      column.defaultValue = defaultValue(value, of: column, at: "\(place).default")
    }
    return column
  }

  private mutating func defaultValue(_ value: JSONValue, of column: ColumnSchema, at place: String) -> Value?
  {
    do {
      return try JSONReader.read(value.bytes) { try column.value(from: &$0) }
    } catch {
      faults.append(.init(place, "The default must be of type \(column.type.rawValue)."))
      return nil
    }
  }

  private mutating func choice<Choice: RawRepresentable & CaseIterable>(
    _ value: JSONValue, of type: Choice.Type, at place: String
  ) -> Choice? where Choice.RawValue == String {
    if let choice = value.stringValue.flatMap(Choice.init) { return choice }
    faults.append(.init(place, "Choose one of \(type.allCases.map(\.rawValue).joined(separator: ", "))."))
    return nil
  }

  private mutating func text(_ value: JSONValue?, at place: String) -> String? {
    if let text = value?.stringValue { return text }
    faults.append(.init(place, "Give a text."))
    return nil
  }

  /// A list of texts that is not empty; [] if absent.
  private mutating func texts(_ value: JSONValue?, at place: String) -> [String] {
    guard let value else { return [] }
    let texts = value.elements?.compactMap(\.stringValue) ?? []
    if texts.isEmpty || texts.count != value.elements?.count {
      faults.append(.init(place, "Give a list of texts."))
    }
    return texts
  }

  private mutating func flag(_ value: JSONValue?, at place: String) -> Bool {
    guard let value else { return false }
    if let flag = value.boolValue { return flag }
    faults.append(.init(place, "Say true or false."))
    return false
  }

  private mutating func number(_ value: JSONValue?, at place: String) -> Int64? {
    guard let value else { return nil }
    if let number = value.integerValue { return number }
    faults.append(.init(place, "Give a whole number."))
    return nil
  }

  private mutating func knownOnly(_ members: [JSONValue.Member], _ known: [String], at place: String) {
    for member in members where !known.contains(member.name) {
      faults.append(
        .init(
          "\(place).\(member.name)", "Unknown member; the known ones are \(known.joined(separator: ", "))."))
    }
  }
}
