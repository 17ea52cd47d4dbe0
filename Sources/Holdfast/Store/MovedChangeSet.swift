import HoldfastCore
import HoldfastSQLite

/// A refused change set whose zone has moved to another database, with those that are in quarantine because of it: docs/MOVING.md.
struct MovedChangeSet: Sendable {
  /// Its number in the quarantine of its file.
  let number: Int64
  /// What it has in common with its copies in the files of this device, and of devices that were copied from it.
  let origin: String
  let zone: String
  /// The set itself first.
  let sets: [(body: [UInt8], origin: String?)]
}

/// Moves refused change sets from the file of a database to that of another, exactly once (I1, I3).
///
/// The file that gets one notes it in the transaction of its edits. Only then it leaves the quarantine of the other, and whoever finds it there
/// still, as after a crash, finds the note.
struct MovedChangeSets {
  let database: LocalDatabase

  private var connection: SQLiteConnection { database.connection }

  /// Those in quarantine, oldest first.
  func all() throws -> [MovedChangeSet] {
    let roots = try connection.rows(
      "SELECT n, problem, origin FROM holdfast_quarantine WHERE because IS NULL ORDER BY n")
    return try roots.compactMap { root in
      guard let number = root[0].integer, let document = root[1].text, let origin = root[2].text,
        let problem = Problem(document: Array(document.utf8)), problem.code == .zoneMoved,
        let zone = problem.zone
      else { return nil }
      let sets = try connection.rows(
        "SELECT body, origin FROM holdfast_quarantine WHERE n = ?1 OR because = ?1 ORDER BY n",
        [.integer(number)])
      return MovedChangeSet(
        number: number, origin: origin, zone: zone, sets: sets.map { ($0[0].blob ?? [], $0[1].text) })
    }
  }

  /// Whether a zone is whole here.
  func has(_ zone: String) throws -> Bool {
    try ZoneStates(database: database).state(of: zone)?.isWhole == true
  }

  /// Whether one was written in this file.
  func hasTaken(_ set: MovedChangeSet) throws -> Bool {
    try connection.row("SELECT 1 FROM holdfast_carried WHERE origin = ?", [.text(set.origin)]) != nil
  }

  /// Writes one as edits of this file, unless that was done.
  ///
  /// - Returns: false while the zone is not whole here.
  func take(_ set: MovedChangeSet) throws -> Bool {
    try AppTransaction(database: database).writeRefused(keepingMoments: true) { writing in
      if try hasTaken(set) { return true }
      guard try has(set.zone) else { return false }
      try writing.write(set.sets)
      for origin in set.sets.compactMap(\.origin) {
        try connection.run("INSERT OR IGNORE INTO holdfast_carried (origin) VALUES (?)", [.text(origin)])
      }
      return true
    }
  }
}
