import HoldfastCore
import HoldfastPostgres

extension PostgresTables {
  /// Who may do what in which zone, as the zone's members and its groups' members say: what every check of access reads; and the
  /// invitations.
  static let access = """
    CREATE TABLE holdfast.access (
      zone text COLLATE "C" NOT NULL, "user" text COLLATE "C" NOT NULL, role text COLLATE "C" NOT NULL CHECK (role IN (\(Role.sqlList))),
      PRIMARY KEY (zone, "user")
    );
    CREATE INDEX access_of_user ON holdfast.access ("user", role);
    CREATE TABLE holdfast.invitations (
      zone text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, token_hash bytea NOT NULL,
      role text COLLATE "C" NOT NULL CHECK (role IN (\(Role.sqlList))), inviter text COLLATE "C" NOT NULL,
      expires_at bigint NOT NULL, uses bigint NOT NULL CHECK (uses >= 0), PRIMARY KEY (zone, id)
    );
    CREATE INDEX invitations_of_token ON holdfast.invitations (token_hash);

    """

  /// Who has left which zone, and who has blocked whom; when sessions began.
  static let consents = """
    CREATE TABLE holdfast.departures (
      zone text COLLATE "C" NOT NULL, "user" text COLLATE "C" NOT NULL, PRIMARY KEY (zone, "user")
    );
    CREATE INDEX departures_of_user ON holdfast.departures ("user");
    CREATE TABLE holdfast.blocks (
      account text COLLATE "C" NOT NULL, blocked text COLLATE "C" NOT NULL, PRIMARY KEY (account, blocked),
      CHECK (account <> blocked)
    );
    CREATE INDEX blocks_of_blocked ON holdfast.blocks (blocked);
    ALTER TABLE holdfast.devices ADD COLUMN session_at bigint NOT NULL DEFAULT 0;
    ALTER TABLE holdfast.devices ADD CONSTRAINT devices_session_at CHECK (session_at >= 0);
    CREATE INDEX devices_unused ON holdfast.devices (number)
      WHERE session = 1 AND NOT session_used AND scope IS NULL AND issued_after IS NULL;

    """

  /// What the tenth format has besides, where `members` stands already.
  static let inviter = "ALTER TABLE holdfast.members ADD COLUMN invited_by text COLLATE \"C\";\n"
  /// What it knows of the sessions that a database has already.
  static let sessions = "UPDATE holdfast.devices SET session_at = seen_at"

  /// What the sixth format has besides, where `members` stands already.
  static let groups = """
    ALTER TABLE holdfast.members ADD COLUMN "group" text COLLATE "C";
    CREATE UNIQUE INDEX holdfast_members_unique_1 ON holdfast.members ("zone", "group");
    CREATE INDEX holdfast_members_of_group ON holdfast.members ("group");

    """
  static let findMembers: PostgresStatement =
    "SELECT m.zone, m.\"user\", m.role FROM holdfast.members m"
  static let addAccess: PostgresStatement =
    "INSERT INTO holdfast.access (zone, \"user\", role) VALUES ($1, $2, $3)"
}
