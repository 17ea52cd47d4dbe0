import HoldfastCore
import HoldfastService

/// Checks whether a team's table can be adopted, and which of its columns can be synced.
struct AdoptionFitness {
  /// The number of characters of an id that a device makes.
  static let idLength = 36

  private let catalog: PostgresCatalog

  init(_ catalog: PostgresCatalog) { self.catalog = catalog }

  /// The reasons against adopting the table, each with what to do; empty if it can be adopted.
  var obstacles: [String] {
    switch catalog.kind {
    case "r" where !catalog.isPartition: break
    case "r", "p":
      return ["It is partitioned or inherits: changes of its parts would not be seen. Keep it out."]
    case "v", "m": return ["It is a view; adopt the tables behind it."]
    default: return ["It is no plain table; keep it out."]
    }
    guard !catalog.primaryKey.isEmpty else {
      return ["It has no primary key; add a column id uuid PRIMARY KEY."]
    }
    guard catalog.primaryKey == ["id"] else {
      return [
        """
        Its primary key is (\(catalog.primaryKey.joined(separator: ", "))). Records are named by one column, id: rename it, or add \
        id uuid NOT NULL DEFAULT gen_random_uuid() as the primary key and keep the other as a unique constraint.
        """
      ]
    }
    guard let id = catalog.column("id") else { return [] }
    if id.isIdentity {
      return [
        """
        Its id is numbered by the database; a device must be able to make ids offline. Add a uuid column, make it the primary key and keep \
        the number as another column.
        """
      ]
    }
    guard let kind = id.column?.kind, [.text, .varchar, .citext, .uuid].contains(kind) else {
      return ["Its id is of type \(id.type); a device makes UUIDs. Change it to uuid or text."]
    }
    if kind == .citext {
      return ["Its id is of type citext, which takes different ids for equal; change it to text."]
    }
    if id.isInexact {
      return [
        "The collation of its id takes different ids for equal; change it to one that is deterministic, such as \"C\"."
      ]
    }
    if let length = id.length, length < Self.idLength {
      return [
        """
        Its id is of type \(id.type), which takes \(length) characters; an id that a device makes has \(Self.idLength). Change it to uuid, \
        text or varchar(64).
        """
      ]
    }
    return []
  }

  /// The reason why a column cannot be synced; nil if it can.
  static func reason(against column: PostgresCatalog.Column) -> String? {
    if column.isGenerated { return "computed by the database" }
    if column.isIdentity { return "numbered by the database" }
    if column.column == nil { return "of type \(column.type), which no column of a record has" }
    if !isGoodName(column.name) { return "its name is not of a-z, 0-9 and _, beginning with a letter" }
    if SchemaCheck.reservedColumns.contains(column.name) { return "its name is kept for Holdfast" }
    return nil
  }

  /// The reason why a column can't refer to records that devices make; nil if it can.
  static func reason(againstReference column: PostgresCatalog.Column) -> String? {
    if column.isInexact {
      return
        "Its collation takes different ids for equal. Change it to one that is deterministic, such as \"C\"."
    }
    guard let length = column.length, length < idLength else { return nil }
    return """
      It is of type \(column.type), which takes \(length) characters; an id that a device makes has \(idLength). Widen it.
      """
  }

  /// The number of characters that an id or a reference can have, of the 64 that the service takes.
  static func reach(of column: PostgresCatalog.Column) -> Int {
    column.column?.kind == .uuid ? idLength : min(column.length ?? .max, 64)
  }

  /// Whether the schema accepts a name.
  static func isGoodName(_ name: String) -> Bool {
    (1...63).contains(name.utf8.count) && name.utf8.first.map { (97...122).contains($0) } == true
      && name.utf8.allSatisfy { (97...122).contains($0) || (48...57).contains($0) || $0 == 95 }
  }
}
