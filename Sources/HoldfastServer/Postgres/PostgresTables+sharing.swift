extension PostgresTables {
  /// Who may do what in which zone, as the zone's members and its groups' members say: what every check of access reads.
  static let access = """
    CREATE TABLE holdfast.access (
      zone text COLLATE "C" NOT NULL, "user" text COLLATE "C" NOT NULL, role text COLLATE "C" NOT NULL,
      PRIMARY KEY (zone, "user")
    );
    CREATE INDEX access_of_user ON holdfast.access ("user", role);

    """

  /// What the fifth format has besides, where `members` stands already; no database in shards is older.
  static let groupsAdded = """
    DO $$ BEGIN
      -- A new database gets members with all their columns later.
      IF to_regclass('holdfast.members') IS NOT NULL THEN
        ALTER TABLE holdfast.members ADD COLUMN "group" text COLLATE "C";
        CREATE UNIQUE INDEX holdfast_members_unique_1 ON holdfast.members (zone, "group");
        CREATE INDEX holdfast_members_of_group ON holdfast.members ("group");
        INSERT INTO holdfast.access (zone, "user", role) SELECT m.zone, m."user", m.role FROM holdfast.members m;
      END IF;
    END $$;

    """
}
