extension SQLiteTables {
  /// What purging needs besides: the acks of a zone, up to where it was purged when a copy began, what is old, and of each device whether its acks were purged, and what it says of itself.
  static let retention = """
    CREATE INDEX holdfast_acks_of_zone ON holdfast_acks (zone);
    ALTER TABLE holdfast_acks ADD COLUMN purged INTEGER NOT NULL DEFAULT 0 CHECK (purged >= -1);
    CREATE INDEX holdfast_requests_of_time ON holdfast_requests (at);
    ALTER TABLE holdfast_devices ADD COLUMN acks_purged INTEGER NOT NULL DEFAULT 0 CHECK (acks_purged IN (0, 1));
    ALTER TABLE holdfast_devices ADD COLUMN app TEXT;
    ALTER TABLE holdfast_devices ADD COLUMN app_schema TEXT;
    """
}
