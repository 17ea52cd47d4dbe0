import HoldfastPostgres
import HoldfastService

/// The statements that find and delete expired data.
enum PostgresPurgeStatements {
  /// Devices whose first session never wrote. Their numbers are not used anywhere.
  static let findUnused: PostgresStatement = """
    SELECT d.number FROM holdfast.devices d WHERE d.session = 1 AND NOT d.session_used AND d.scope IS NULL
      AND d.issued_after IS NULL AND d.seen_at <= $1 AND d.number > $2 ORDER BY d.number LIMIT $3
    """
  static let dropUnused: PostgresStatement = """
    DELETE FROM holdfast.devices WHERE number = ANY ($1) AND session = 1 AND NOT session_used AND scope IS NULL
      AND issued_after IS NULL AND seen_at <= $2 RETURNING number
    """
  static let dropPushTokens: PostgresStatement = "DELETE FROM holdfast.push_tokens WHERE device = ANY ($1)"
  static let findZones: PostgresStatement = """
    SELECT DISTINCT r.zone FROM holdfast.records r WHERE r.state > 0 AND r.zone > $1 ORDER BY r.zone LIMIT $2
    """
  static let findZone: PostgresStatement =
    "SELECT seq, purged, public, restored FROM holdfast.zones WHERE zone = $1"
  static let findUsers: PostgresStatement = "SELECT m.\"user\" FROM holdfast.access m WHERE m.zone = $1"
  static let findAck: PostgresStatement = PostgresStatement(leastAck)
  static let findAckOfUsers: PostgresStatement = PostgresStatement(leastAck + " AND d.account = ANY ($6)")
  private static let leastAck = """
    SELECT min(greatest(a.seq, a.purged)) FROM holdfast.acks a JOIN holdfast.devices d ON d.number = a.device WHERE a.zone = $1
    AND a.epoch = $2 AND NOT a.lost AND greatest(a.seq, a.purged) BETWEEN $3 AND $4 AND d.seen_at > $5
    """
  static let findAwaited: PostgresStatement = PostgresStatement(awaited + " LIMIT 1")
  static let findAwaitedOfUsers: PostgresStatement = PostgresStatement(
    awaited + " AND d.account = ANY ($2) LIMIT 1")
  private static let awaited =
    "SELECT d.number FROM holdfast.devices d WHERE d.unseen_since_restore AND d.seen_at > $1"
  static let findTombstones: PostgresStatement = """
    SELECT r.seq, r.stamp, r.record_table, r.id, r.state FROM holdfast.records r
    WHERE r.zone = $1 AND r.state > 0 AND r.seq <= $2 ORDER BY r.seq LIMIT $3
    """
  static let dropTombstones: PostgresStatement =
    "DELETE FROM holdfast.records r WHERE r.zone = $1 AND r.state > 0 AND r.seq <= $2"
  static let setPurged: PostgresStatement = "UPDATE holdfast.zones SET purged = $2 WHERE zone = $1"
  static let dropCreated: PostgresStatement = """
    DELETE FROM holdfast.created c USING unnest($1::text[], $2::text[]) AS u (t, i)
    WHERE c.record_id = u.i AND c.record_table = u.t RETURNING c.place
    """

  static let findDead: PostgresStatement = """
    SELECT DISTINCT a.device FROM holdfast.acks a JOIN holdfast.devices d ON d.number = a.device
    WHERE d.seen_at <= $1 AND a.device > $2 ORDER BY a.device LIMIT $3
    """
  static let findDeadUnseen: PostgresStatement = """
    SELECT d.number FROM holdfast.devices d WHERE d.unseen_since_restore AND d.seen_at <= $1 AND d.number > $2 ORDER BY d.number LIMIT $3
    """
  static let lockDevice: PostgresStatement =
    "SELECT seen_at FROM holdfast.devices WHERE number = $1 FOR NO KEY UPDATE SKIP LOCKED"
  static let findAcks: PostgresStatement =
    "SELECT a.zone FROM holdfast.acks a WHERE a.device = $1 ORDER BY a.zone LIMIT $2"
  static let dropAcks: PostgresStatement = "DELETE FROM holdfast.acks WHERE device = $1 AND zone <= $2"
  static let markDevice: PostgresStatement =
    "UPDATE holdfast.devices SET acks_purged = true, unseen_since_restore = false WHERE number = $1"

  static let findNumber: PostgresStatement = "SELECT d.number FROM holdfast.devices d WHERE d.id = $1"
  static let resetAcks: PostgresStatement = """
    UPDATE holdfast.acks SET lost = true WHERE device = $1 AND epoch <> '' AND NOT lost AND zone = coalesce($2, zone)
    RETURNING zone
    """

  static let findConflicts: PostgresStatement = """
    SELECT c.id, c.zone FROM holdfast.conflicts c WHERE c.id > $1 AND c.id < $2 ORDER BY c.id LIMIT $3
    """
  static let findAnswers: PostgresStatement =
    "SELECT q.device, q.number FROM holdfast.requests q WHERE q.at <= $1 ORDER BY q.at LIMIT $2"
  static let dropAnswers: PostgresStatement = """
    DELETE FROM holdfast.requests WHERE device = $1 AND number <= $2 AND at <= $3 RETURNING number
    """
  static let findResults: PostgresStatement =
    "SELECT p.account, p.token_hash FROM holdfast.results p WHERE p.expires <= $1 OR p.expires > $2 LIMIT $3"
  static let dropResult: PostgresStatement =
    "DELETE FROM holdfast.results WHERE account = $1 AND token_hash = $2"
  static let dropResultIDs: PostgresStatement =
    "DELETE FROM holdfast.result_ids WHERE account = $1 AND token_hash = $2"

  static let findTime: PostgresStatement =
    "SELECT m.value FROM holdfast.meta m WHERE m.key = 'trusted_time'"
  static let lockTime: PostgresStatement = """
    INSERT INTO holdfast.meta AS m (key, value) VALUES ('trusted_time', '')
    ON CONFLICT (key) DO UPDATE SET value = m.value RETURNING m.value
    """
  static let putTime: PostgresStatement =
    "UPDATE holdfast.meta SET value = $1 WHERE key = 'trusted_time'"
  static let takeBackDevices: PostgresStatement = """
    UPDATE holdfast.devices SET seen_at = least(seen_at, $1), session_at = least(session_at, $1)
    WHERE seen_at > $1 OR session_at > $1
    """
  static let takeBackAnswers: PostgresStatement = "UPDATE holdfast.requests SET at = $1 WHERE at > $1"

  static let takeBackCarried: PostgresStatement = "UPDATE holdfast.carried SET at = $1 WHERE at > $1"

  static let findCarried: PostgresStatement = "SELECT c.zone FROM holdfast.carried c WHERE c.at <= $1 LIMIT 1"
  static let dropCarried: PostgresStatement = """
    DELETE FROM holdfast.carried WHERE (account, origin, zone) IN (
      SELECT c.account, c.origin, c.zone FROM holdfast.carried c WHERE c.at <= $1 ORDER BY c.at LIMIT $2) RETURNING zone
    """

  static let findEpoch: PostgresStatement =
    "SELECT m.value::bigint FROM holdfast.meta m WHERE m.key = 'epoch_began'"
  static let findRecoveredZones: PostgresStatement =
    "SELECT DISTINCT h.zone FROM holdfast.recovered_records h WHERE h.zone > $1 ORDER BY h.zone LIMIT $2"
  static let findClaimedZones: PostgresStatement =
    "SELECT c.zone FROM holdfast.claimed_seqs c WHERE c.zone > $1 ORDER BY c.zone LIMIT $2"
  static let findRecovered: PostgresStatement = """
    SELECT h.record_table, h.id FROM holdfast.recovered_records h WHERE h.zone = $1 ORDER BY h.record_table, h.id LIMIT $2
    """
  static let dropRecovered: PostgresStatement =
    "DELETE FROM holdfast.recovered_records WHERE zone = $1 AND (record_table, id) <= ($2, $3)"
  static let dropClaimants: PostgresStatement = "DELETE FROM holdfast.zone_claims WHERE zone = $1"
  static let dropClaim: PostgresStatement = "DELETE FROM holdfast.claimed_seqs WHERE zone = $1 RETURNING zone"
}
