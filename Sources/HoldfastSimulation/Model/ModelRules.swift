import HoldfastCore

/// The parts of the simulated app's schema that the model needs.
struct ModelRules: Sendable {
  /// A column that references another table.
  struct Reference: Sendable {
    let table: String
    let column: String
    let target: String
    /// Whether both records are always in the same zone. Otherwise only the server guarantees the reference.
    var isInZone = true
    /// Whether deleting the target deletes the record.
    var cascades = true
  }

  /// All tables, including `members` and `conflicts`.
  var tables: [String]
  var references: [Reference] = []
  /// Tables with the columns `pair`, a group's name, and `size`. The rows of a group are created and deleted only together.
  var pairs: [String] = []
  /// The public zones.
  var publicZones: TextSet = []
  /// Columns whose values are unique in a zone.
  var unique: [(table: String, column: String)] = []
  /// Columns with a record's position in its list.
  var places: [(table: String, list: String, column: String)] = []
  /// The columns, by table, whose policy combines concurrent edits.
  var combining: TextMap<TextSet> = [:]
  /// The columns, by table, whose value is the sum of all increments.
  var counters: TextMap<TextSet> = [:]
  /// Whether the model receives the reasons of the server's refusals.
  var answersArrive = false
}
