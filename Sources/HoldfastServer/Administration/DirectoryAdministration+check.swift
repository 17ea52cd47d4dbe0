import HoldfastPostgres
import HoldfastService

/// Compares a database with its directory: docs/DIRECTORY.md, section 8.
extension DirectoryAdministration {
  /// Compares the names and the guests of a database with what the directory has of them.
  ///
  /// - Parameter repairs: whether names that nobody has are claimed, guests' presences put back, and erasures told again.
  /// - Returns: a line for each difference that is left.
  public func check(_ administration: Administration, repairs: Bool) throws -> [String] {
    try requireTables()
    guard let home = try administration.databaseName() else {
      throw ServerError(.refused, "The database has not joined a directory.")
    }
    return try names(administration, home, repairs: repairs)
      + erasures(administration, home, repairs: repairs)
      + guests(administration, home, repairs: repairs) + lost(administration, home: home)
  }

  /// The names of accounts that the directory lacks, or has for another user.
  private func names(_ administration: Administration, _ home: String, repairs: Bool) throws -> [String] {
    var (last, lines) = ("", [String]())
    while let (_, parameters) = try portion(.residents, of: administration, after: &last, home) {
      if repairs {
        try connection.run(PostgresStatement(Self.claimAll), parameters)
        try connection.run(
          PostgresStatement(
            """
            UPDATE holdfast_directory.names n SET issuer = c.issuer, subject = c.subject FROM \(Self.people)
            WHERE n.name = c.name AND n.user_id = c.id AND n.home = $3
            AND (n.issuer, n.subject) IS DISTINCT FROM (c.issuer, c.subject) AND \(Self.isFree)
            """), parameters)
      }
      let rows = try connection.query(
        PostgresStatement(
          """
          SELECT c.name, n.home, o.name, n.user_id IS NOT DISTINCT FROM c.id AND n.home = $3 FROM \(Self.people)
          LEFT JOIN holdfast_directory.names n ON n.name = c.name
          LEFT JOIN holdfast_directory.names o ON o.user_id = c.id
          WHERE n.name IS NULL OR n.user_id <> c.id OR n.home <> $3
          OR (n.issuer, n.subject) IS DISTINCT FROM (c.issuer, c.subject) ORDER BY c.name
          """), parameters)
      for row in rows.indices {
        let name = "the name \(rows.text(row, 0)) of an account"
        if rows.bool(row, 3) {
          lines.append(
            "the user \(rows.text(row, 0)) is another person of the identity provider for the directory")
        } else if let owner = rows.optionalText(row, 1) {
          lines.append("\(name) is that of another user, of the database \(owner)")
        } else if let other = rows.optionalText(row, 2) {
          lines.append("\(name) is not in the directory, which calls the user \(other)")
        } else {
          lines.append("\(name) is not in the directory")
        }
      }
    }
    return lines
  }

  /// Users who are erased here, and of whom the directory has a name or presences.
  private func erasures(_ administration: Administration, _ home: String, repairs: Bool) throws -> [String] {
    var (last, lines) = ("", [String]())
    while let (_, parameters) = try portion(.erased, of: administration, after: &last, home) {
      let rows = try connection.query(
        """
        SELECT c.id FROM unnest($1, $2) AS c (name, id)
        WHERE EXISTS (SELECT FROM holdfast_directory.names n WHERE n.user_id = c.id AND n.home = $3)
        OR EXISTS (SELECT FROM holdfast_directory.presences p WHERE p.user_id = c.id) ORDER BY c.id
        """, parameters)
      if repairs {
        try Directory.tellErasures(of: rows.texts, home: home, on: connection)
      } else {
        lines += rows.texts.map { "the user \($0) is erased, and the directory has the name or the guest" }
      }
    }
    return lines
  }

  /// Guests without a presence, and those whom no home has.
  private func guests(_ administration: Administration, _ home: String, repairs: Bool) throws -> [String] {
    var (last, lines) = ("", [String]())
    while let (_, parameters) = try portion(.guests, of: administration, after: &last, home) {
      if repairs {
        try connection.run(
          """
          INSERT INTO holdfast_directory.presences (user_id, database)
          SELECT c.id, $3 FROM unnest($1, $2) AS c (name, id) ON CONFLICT DO NOTHING
          """, parameters)
      }
      let rows = try connection.query(
        """
        SELECT c.name, c.id, EXISTS (SELECT FROM holdfast_directory.names n WHERE n.user_id = c.id),
          EXISTS (SELECT FROM holdfast_directory.presences p WHERE p.user_id = c.id AND p.database = $3)
        FROM unnest($1, $2) AS c (name, id) ORDER BY c.name
        """, parameters)
      for row in rows.indices {
        let guest = "the guest \(rows.text(row, 0)), \(rows.text(row, 1)),"
        if !rows.bool(row, 2) { lines.append("\(guest) is in no home that the directory knows") }
        if !rows.bool(row, 3) { lines.append("\(guest) has no presence in the directory") }
      }
    }
    return lines
  }

  /// The served names whose account this database does not have, as after a restore.
  private func lost(_ administration: Administration, home: String) throws -> [String] {
    var (last, lines) = ("", [String]())
    while true {
      let rows = try connection.query(
        """
        SELECT name, user_id FROM holdfast_directory.names WHERE home = $1 AND is_served AND name > $2 ORDER BY name LIMIT $3
        """, PostgresParameters(home, last, Int64(Self.portion)))
      if rows.isEmpty { return lines }
      for row in rows.indices {
        last = rows.text(row, 0)
        if try !administration.hasAccount(rows.text(row, 1)) {
          lines.append("the name \(last) is in the directory, and its account is not here")
        }
      }
    }
  }
}
