import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// The names of the users of all databases: docs/DIRECTORY.md, section 4.
extension Directory {
  /// The result of a claim.
  enum Claim {
    /// The name is claimed, for a user with this id.
    case user(String)
    case taken
    /// This database takes no new users; the address of one that does.
    case elsewhere(String?)
  }

  private static let claim: PostgresStatement = """
    WITH own AS (SELECT is_open FROM holdfast_directory.databases WHERE name = $3),
    claimed AS (
      INSERT INTO holdfast_directory.names AS n (name, user_id, home) SELECT $1, $2, $3 FROM own WHERE is_open
      ON CONFLICT (name) DO UPDATE SET claimed = now() WHERE n.home = excluded.home AND NOT n.is_served
      RETURNING user_id)
    SELECT (SELECT is_open FROM own), (SELECT user_id FROM claimed),
      (SELECT url FROM holdfast_directory.databases WHERE is_open AND name <> $3 ORDER BY random() LIMIT 1)
    """

  /// Claims a name for a new user. A claim of this database whose account was never made is taken again, with its id.
  func claim(_ name: String, for user: String) throws -> Claim {
    let rows = try query(Self.claim, PostgresParameters(name, user, self.name))
    guard let isOpen = rows.optionalBool(0, 0) else { throw unknown }
    if !isOpen { return .elsewhere(rows.optionalText(0, 2)) }
    return rows.optionalText(0, 1).map { .user($0) } ?? .taken
  }

  /// The result of asking for a person of an identity provider.
  enum Person {
    /// The name is claimed, for a user with this id.
    case claimed(user: String, name: String)
    /// The name is taken by somebody else.
    case nameTaken
    /// The home is another database, at this address; or this database takes no new users, and that one does.
    case elsewhere(String?)
    /// The home is this database.
    case here
  }

  private static let claimPerson: PostgresStatement = """
    WITH own AS (SELECT is_open FROM holdfast_directory.databases WHERE name = $3),
    known AS (SELECT home FROM holdfast_directory.names WHERE issuer = $4 AND subject = $5),
    renewed AS (
      UPDATE holdfast_directory.names SET claimed = now()
      WHERE issuer = $4 AND subject = $5 AND home = $3 AND NOT is_served RETURNING user_id, name),
    claimed AS (
      INSERT INTO holdfast_directory.names (name, user_id, home, issuer, subject)
      SELECT $1, $2, $3, $4, $5 FROM own WHERE is_open AND NOT EXISTS (SELECT FROM known)
      ON CONFLICT DO NOTHING RETURNING user_id, name),
    mine AS (SELECT * FROM renewed UNION ALL SELECT * FROM claimed)
    SELECT (SELECT is_open FROM own), (SELECT user_id FROM mine), (SELECT name FROM mine), (SELECT home FROM known),
      (SELECT url FROM holdfast_directory.databases d
        WHERE coalesce(d.name = (SELECT home FROM known), is_open AND d.name <> $3) ORDER BY random() LIMIT 1)
    """

  /// Claims a name for a person of an identity provider whom this database does not know. A claim of this database whose account was never
  /// made is taken again, with its id and name.
  func claim(_ name: String, for user: String, identity: Identity) throws -> Person {
    let rows = try query(
      Self.claimPerson, PostgresParameters(name, user, self.name, identity.issuer, identity.subject))
    guard let isOpen = rows.optionalBool(0, 0) else { throw unknown }
    if let user = rows.optionalText(0, 1), let name = rows.optionalText(0, 2) {
      return .claimed(user: user, name: name)
    }
    if let home = rows.optionalText(0, 3) {
      return home == self.name ? .here : .elsewhere(rows.optionalText(0, 4))
    }
    return isOpen ? .nameTaken : .elsewhere(rows.optionalText(0, 4))
  }

  private var unknown: Problem {
    Problem(.directoryUnavailable, "The directory does not know the database \(name).")
  }

  private static let findHome: PostgresStatement = """
    SELECT d.url FROM holdfast_directory.names n JOIN holdfast_directory.databases d ON d.name = n.home
    WHERE n.name = $1 AND n.home <> $2
    """

  /// The address of the home of a name; nil if it is this database, or nobody has the name.
  func address(ofHomeOf name: String) throws -> String? {
    let rows = try query(Self.findHome, PostgresParameters(name, self.name))
    return rows.isEmpty ? nil : rows.text(0, 0)
  }

  private static let findUser: PostgresStatement =
    "SELECT user_id, issuer FROM holdfast_directory.names WHERE name = $1"

  /// The user with a name, of any home; nil if nobody has it.
  func user(named name: String) throws -> FoundUser? {
    let rows = try query(Self.findUser, PostgresParameters(name))
    return rows.isEmpty ? nil : FoundUser(id: rows.text(0, 0), name: name, issuer: rows.optionalText(0, 1))
  }

  private static let invite: PostgresStatement = """
    WITH found AS (
      UPDATE holdfast_directory.names SET is_served = true WHERE name = ANY ($1) AND home <> $2
      RETURNING user_id, name, home),
    presence AS (
      INSERT INTO holdfast_directory.presences (user_id, database) SELECT user_id, $2 FROM found
      ON CONFLICT DO NOTHING)
    SELECT user_id, name, home FROM found ORDER BY name
    """

  /// The users of other homes with some names, who become present in this database.
  func invite(_ names: [String]) throws -> [NewGuest] {
    var parameters = PostgresParameters(array: names)
    parameters.append(name)
    let rows = try query(Self.invite, parameters)
    return rows.indices.map { NewGuest(id: rows.text($0, 0), name: rows.text($0, 1), home: rows.text($0, 2)) }
  }

  private static let findUnserved: PostgresStatement = """
    SELECT user_id FROM holdfast_directory.names
    WHERE home = $1 AND NOT is_served AND claimed < now() - interval '1 hour' ORDER BY claimed LIMIT 200
    """
  private static let settle: PostgresStatement = """
    WITH served AS (UPDATE holdfast_directory.names SET is_served = true WHERE user_id = ANY ($2))
    DELETE FROM holdfast_directory.names WHERE user_id = ANY ($3) AND home = $1 AND NOT is_served
      AND claimed < now() - interval '1 hour'
    """

  /// Looks at claims of more than an hour: those with an account stay for good, the others are removed.
  ///
  /// - Parameter exists: whether this database has, or had, an account with an id.
  func settleClaims(_ exists: (String) throws -> Bool) throws {
    let users = try query(Self.findUnserved, PostgresParameters(name)).texts
    if users.isEmpty { return }
    var (known, unknown) = ([String](), [String]())
    for user in users { if try exists(user) { known.append(user) } else { unknown.append(user) } }
    var parameters = PostgresParameters(name)
    parameters.append(array: known)
    parameters.append(array: unknown)
    _ = try query(Self.settle, parameters)
  }
}
