extension SQLiteTables {
  /// What erasing users needs: how far each account is on its way out, from which seq on a zone has nothing of whom was erased, and whose
  /// invitations are whose.
  static let erasing = """
    ALTER TABLE holdfast_accounts ADD COLUMN erasure INTEGER NOT NULL DEFAULT 0 CHECK (erasure IN (0, 1, 2));
    CREATE INDEX holdfast_accounts_erased ON holdfast_accounts (id) WHERE erasure = 1;
    ALTER TABLE holdfast_zones ADD COLUMN erased INTEGER NOT NULL DEFAULT 0 CHECK (erased >= 0);
    CREATE INDEX holdfast_zones_erased ON holdfast_zones (zone) WHERE erased > 0;
    CREATE INDEX holdfast_invitations_of_inviter ON holdfast_invitations (inviter);
    """
}
