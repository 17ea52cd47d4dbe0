extension SQLiteTables {
  /// What tokens other than those of sessions need: the scope of a service token, from when on the JWTs of a device are taken, and who the users of
  /// identity providers are.
  static let identity = """
    ALTER TABLE holdfast_devices ADD COLUMN scope TEXT;
    ALTER TABLE holdfast_devices ADD COLUMN issued_after INTEGER;
    CREATE TABLE holdfast_identities (
      issuer TEXT NOT NULL, subject TEXT NOT NULL, user TEXT NOT NULL REFERENCES holdfast_accounts (id),
      PRIMARY KEY (issuer, subject), CHECK (issuer <> '' AND subject <> '')
    ) WITHOUT ROWID;
    """
}
