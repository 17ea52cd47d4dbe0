extension PostgresTables {
  /// What erasing users needs, in either layout: how far each account is on its way out, from which seq on a zone has nothing of whom was
  /// erased, and whose invitations are whose.
  static let erasing = """
    ALTER TABLE holdfast.accounts ADD COLUMN erasure bigint NOT NULL DEFAULT 0;
    ALTER TABLE holdfast.accounts ADD CONSTRAINT accounts_erasure CHECK (erasure IN (0, 1, 2));
    CREATE INDEX accounts_erased ON holdfast.accounts (id) WHERE erasure = 1;
    ALTER TABLE holdfast.zones ADD COLUMN erased bigint NOT NULL DEFAULT 0;
    ALTER TABLE holdfast.zones ADD CONSTRAINT zones_erasing CHECK (erased >= 0);
    CREATE INDEX zones_erased ON holdfast.zones (zone) WHERE erased > 0;
    CREATE INDEX invitations_of_inviter ON holdfast.invitations (inviter);

    """
}
