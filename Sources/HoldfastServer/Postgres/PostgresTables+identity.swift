extension PostgresTables {
  /// What tokens other than those of sessions need, in either layout: the scope of a service token, from when on the JWTs of a device are taken,
  /// and who the users of identity providers are.
  static let identity = """
    ALTER TABLE holdfast.devices ADD COLUMN scope text;
    ALTER TABLE holdfast.devices ADD COLUMN issued_after bigint;
    CREATE TABLE holdfast.identities (
      issuer text COLLATE "C" NOT NULL, subject text COLLATE "C" NOT NULL, account text COLLATE "C" NOT NULL,
      PRIMARY KEY (issuer, subject), CHECK (issuer <> '' AND subject <> '')
    );

    """
}
