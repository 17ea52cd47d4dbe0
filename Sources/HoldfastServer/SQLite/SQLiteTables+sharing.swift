import HoldfastCore

extension SQLiteTables {
  /// Who may do what in which zone, as the zone's members and its groups' members say: what every check of access reads; and the
  /// invitations.
  static let access = """
    CREATE TABLE holdfast_access (
      zone TEXT NOT NULL, user TEXT NOT NULL, role TEXT NOT NULL CHECK (role IN (\(Role.sqlList))), PRIMARY KEY (zone, user)
    ) WITHOUT ROWID;
    CREATE INDEX holdfast_access_of_user ON holdfast_access (user, role);
    CREATE TABLE holdfast_invitations (
      zone TEXT NOT NULL, id TEXT NOT NULL, token_hash BLOB NOT NULL UNIQUE,
      role TEXT NOT NULL CHECK (role IN (\(Role.sqlList))), inviter TEXT NOT NULL, expires_at INTEGER NOT NULL,
      uses INTEGER NOT NULL CHECK (uses >= 0), PRIMARY KEY (zone, id)
    ) WITHOUT ROWID;
    """

  /// Who has left which zone, and who has blocked whom; when sessions began.
  static let consents = """
    CREATE TABLE holdfast_left (zone TEXT NOT NULL, user TEXT NOT NULL, PRIMARY KEY (zone, user)) WITHOUT ROWID;
    CREATE INDEX holdfast_left_of_user ON holdfast_left (user);
    CREATE TABLE holdfast_blocks (
      user TEXT NOT NULL, blocked TEXT NOT NULL, PRIMARY KEY (user, blocked), CHECK (user <> blocked)
    ) WITHOUT ROWID;
    CREATE INDEX holdfast_blocks_of_blocked ON holdfast_blocks (blocked);
    ALTER TABLE holdfast_devices ADD COLUMN session_at INTEGER NOT NULL DEFAULT 0 CHECK (session_at >= 0);
    UPDATE holdfast_devices SET session_at = seen_at;
    CREATE INDEX holdfast_devices_unused ON holdfast_devices (number)
      WHERE session = 1 AND session_used = 0 AND scope IS NULL AND issued_after IS NULL;
    """

  /// What the tenth format has besides, where `members` stands already.
  static let inviterAdded = "ALTER TABLE members ADD COLUMN invited_by TEXT;"

  /// What the sixth format has besides, where `members` stands already.
  static let groupsAdded = """
    ALTER TABLE members ADD COLUMN "group" TEXT;
    CREATE INDEX holdfast_members_unique_1 ON members ("zone", "group");
    CREATE INDEX holdfast_members_of_group ON members ("group");
    INSERT INTO holdfast_access (zone, user, role) SELECT zone, user, role FROM members;
    """
}
