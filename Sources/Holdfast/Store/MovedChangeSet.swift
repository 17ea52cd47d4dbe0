import HoldfastCore
import HoldfastSQLite

/// A refused change set whose zone has moved to another database, with those that are in quarantine because of it: docs/MOVING.md.
struct MovedChangeSet: Sendable {
  /// What the positions of its file are told apart by, which no other file has.
  let replica: String
  /// Its number in the quarantine of that file.
  let number: Int64
  let zone: String
  let bodies: [[UInt8]]
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
    let replica = try connection.value("SELECT replica FROM holdfast_local")?.text ?? ""
    let roots = try connection.rows(
      "SELECT n, problem FROM holdfast_quarantine WHERE because IS NULL ORDER BY n")
    return try roots.compactMap { root in
      guard let number = root[0].integer, let document = root[1].text,
        let problem = Problem(document: Array(document.utf8)), problem.code == .zoneMoved,
        let zone = problem.zone
      else { return nil }
      let bodies = try connection.rows(
        "SELECT body FROM holdfast_quarantine WHERE n = ?1 OR because = ?1 ORDER BY n", [.integer(number)])
      return MovedChangeSet(
        replica: replica, number: number, zone: zone, bodies: bodies.map { $0[0].blob ?? [] })
    }
  }

  /// Whether a zone is whole here.
  func has(_ zone: String) throws -> Bool {
    try ZoneStates(database: database).state(of: zone)?.isWhole == true
  }

  /// Whether one was written in this file.
  func hasTaken(_ set: MovedChangeSet) throws -> Bool {
    try connection.row(
      "SELECT 1 FROM holdfast_carried WHERE replica = ? AND n = ?",
      [.text(set.replica), .integer(set.number)]) != nil
  }

  /// Writes one as edits of this file, unless that was done.
  ///
  /// - Returns: false while the zone is not whole here.
  func take(_ set: MovedChangeSet) throws -> Bool {
    try AppTransaction(database: database).writeRefused(keepingMoments: true) { writing in
      if try hasTaken(set) { return true }
      guard try has(set.zone) else { return false }
      try writing.write(set.bodies)
      try connection.run(
        "INSERT INTO holdfast_carried (replica, n) VALUES (?, ?)",
        [.text(set.replica), .integer(set.number)])
      return true
    }
  }
}
