package import HoldfastCore

/// The scope of a service token. It never changes: docs/IDENTITY.md, section 6.
package struct TokenScope: Sendable, Equatable {
  /// The maximum number of tables, and of zones, in a scope.
  package static let nameLimit = 1000

  /// The role in its zones.
  package let role: Role
  /// The names of its tables; nil for all.
  package let tables: TextSet?
  /// Its zones; nil for all, including future ones.
  package let zones: TextSet?

  package init(role: Role, tables: TextSet?, zones: TextSet?) {
    self.role = role
    self.tables = tables
    self.zones = zones
  }

  /// Parses a stored scope; nil if the text is not one.
  package init?(_ text: String) {
    guard let value = try? JSONValue(parsing: text), let role = value["role"]?.stringValue.flatMap(Role.init)
    else { return nil }
    func names(_ member: String) -> TextSet? {
      value[member]?.elements.map { TextSet($0.compactMap(\.stringValue)) }
    }
    self.init(role: role, tables: names("tables"), zones: names("zones"))
  }

  /// The stored form.
  package var text: String {
    func names(_ names: TextSet?) -> JSONValue {
      names.map { .array($0.sorted().map { .string($0) }) } ?? .null
    }
    let value: JSONValue = [
      "role": .string(role.rawValue), "tables": names(tables), "zones": names(zones),
    ]
    return String(decoding: value.bytes, as: UTF8.self)
  }

  package func has(zone: String) -> Bool { zones?.contains(zone) ?? true }

  /// Whether the scope names a table, by its name or a former one: a scope outlives the renaming of its tables.
  package func has(table: TableSchema) -> Bool {
    guard let tables else { return true }
    return tables.contains(table.name) || table.was.contains(where: tables.contains)
  }

  /// Requires that the scope names a table.
  ///
  /// - Throws: `Problem.tokenLimited`.
  package func require(table: TableSchema) throws(Problem) {
    if !has(table: table) { throw Problem(.tokenLimited, "It does not name the table \(table.name).") }
  }

  /// Checks in advance that the scope permits writing a record of a table. Checks that depend on the record's zone happen at the write.
  ///
  /// - Throws: `Problem.tokenLimited`.
  package func check(table index: Int, isDeletion: Bool, in schema: SyncSchema) throws(Problem) {
    let table = schema.tables[index]
    try require(table: table)
    if role == .viewer { throw Problem(.tokenLimited, "It may read only.") }
    guard isDeletion, let other = dependent(of: index, in: schema) else { return }
    throw Problem(
      .tokenLimited, "A deletion in \(table.name) changes records of \(other), which it does not name.")
  }

  /// A table whose records a deletion reaches.
  private struct Reached: Hashable {
    let table: Int
    /// Whether only references inside the zone lead to it. Beyond, no reference restricts the deletion.
    let isInside: Bool
  }

  /// A table outside the scope whose records a deletion in `table` could delete or change.
  private func dependent(of table: Int, in schema: SyncSchema) -> String? {
    var reached: Set = [Reached(table: table, isInside: true)]
    var waiting = Array(reached)
    while let parent = waiting.popLast() {
      for link in schema.links(to: parent.table) {
        let child = Reached(table: link.table, isInside: parent.isInside && link.isInZone)
        if child.isInside, link.onDelete == .restrict { continue }
        if !has(table: schema.tables[child.table]) { return schema.tables[child.table].name }
        if schema.unrestricted(link) == .cascade, reached.insert(child).inserted { waiting.append(child) }
      }
    }
    return nil
  }
}
