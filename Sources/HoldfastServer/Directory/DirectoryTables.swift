/// The tables of a directory of databases: docs/DIRECTORY.md, section 3.
enum DirectoryTables {
  /// The statements that make them, if they are not there.
  static let create = """
    CREATE SCHEMA IF NOT EXISTS holdfast_directory;
    CREATE TABLE IF NOT EXISTS holdfast_directory.databases (
      name text COLLATE "C" PRIMARY KEY, url text NOT NULL, identity text NOT NULL,
      is_open boolean NOT NULL DEFAULT true, joined_at timestamptz NOT NULL DEFAULT now()
    );
    CREATE TABLE IF NOT EXISTS holdfast_directory.names (
      name text COLLATE "C" PRIMARY KEY, user_id text COLLATE "C" NOT NULL UNIQUE,
      home text COLLATE "C" NOT NULL REFERENCES holdfast_directory.databases (name),
      is_served boolean NOT NULL DEFAULT false, claimed timestamptz NOT NULL DEFAULT now(),
      issuer text COLLATE "C", subject text COLLATE "C", UNIQUE (issuer, subject), CHECK ((issuer IS NULL) = (subject IS NULL))
    );
    CREATE INDEX IF NOT EXISTS names_unserved ON holdfast_directory.names (home, claimed) WHERE NOT is_served;
    CREATE TABLE IF NOT EXISTS holdfast_directory.passes (
      hash bytea PRIMARY KEY, user_id text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL,
      home text COLLATE "C" NOT NULL, target text COLLATE "C" NOT NULL, home_device text COLLATE "C" NOT NULL,
      expires timestamptz NOT NULL, session_ends timestamptz NOT NULL
    );
    CREATE INDEX IF NOT EXISTS passes_of_device ON holdfast_directory.passes (home_device);
    CREATE INDEX IF NOT EXISTS passes_of_user ON holdfast_directory.passes (user_id);
    CREATE INDEX IF NOT EXISTS passes_expire ON holdfast_directory.passes (expires);
    CREATE TABLE IF NOT EXISTS holdfast_directory.presences (
      user_id text COLLATE "C", database text COLLATE "C" REFERENCES holdfast_directory.databases (name),
      PRIMARY KEY (user_id, database)
    );
    CREATE TABLE IF NOT EXISTS holdfast_directory.ends (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, database text COLLATE "C" NOT NULL,
      home_device text COLLATE "C", user_id text COLLATE "C", CHECK ((home_device IS NULL) <> (user_id IS NULL))
    );
    CREATE INDEX IF NOT EXISTS ends_of_database ON holdfast_directory.ends (database, id);
    CREATE UNIQUE INDEX IF NOT EXISTS ends_of_device ON holdfast_directory.ends (database, home_device);
    CREATE UNIQUE INDEX IF NOT EXISTS ends_of_user ON holdfast_directory.ends (database, user_id);
    REVOKE ALL ON SCHEMA holdfast_directory FROM PUBLIC;
    """
}
