import HoldfastCore

/// What the model must be told of the simulated app's schema.
struct ModelRules: Sendable {
  /// A column that names a record of another table.
  struct Reference: Sendable {
    let table: String
    let column: String
    let target: String
    /// Whether both records are always in one zone; else the reference holds on the server alone.
    var isInZone = true
    /// Whether a record goes when the one that it names goes.
    var cascades = true
  }

  /// All tables, `members` and `conflicts` too.
  var tables: [String]
  var references: [Reference] = []
  /// Tables with a column `pair`, naming a group, and `size`: the rows of a group come and go only together.
  var pairs: [String] = []
  /// The zones that everybody may read.
  var publicZones: TextSet = []
  /// Columns whose values are unique in a zone.
  var unique: [(table: String, column: String)] = []
  /// Columns that say where in its list a record is.
  var places: [(table: String, list: String, column: String)] = []
  /// Columns, by table, in which edits of several people may stand together.
  var combining: TextMap<TextSet> = [:]
  /// Columns, by table, whose value is the sum of all that people added.
  var counters: TextMap<TextSet> = [:]
  /// Whether the model is told why the server refused what it refused.
  var hearsAnswers = false
}
