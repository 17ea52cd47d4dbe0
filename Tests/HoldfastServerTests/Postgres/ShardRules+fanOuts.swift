/// The statements that ask all shards on purpose.
extension ShardRules {
  /// A statement that asks all shards on purpose. None of them locks or writes.
  struct FanOut {
    let reason: String
    let pattern: String
  }

  static let fanOuts = [
    FanOut(
      reason: "a record is named by its id alone",
      pattern: #"""
        SELECT .* FROM holdfast.records r WHERE r.record_table = \$1 AND r.id = ANY \(\$2\)
        """#),
    FanOut(
      reason: "a record shows the request that created it",
      pattern: #"""
        SELECT c.record_id, c.request_id FROM holdfast.created c WHERE c.account = \$1 AND c.record_table = \$2 AND c.record_id = ANY \(\$3\)
        """#),
    FanOut(
      reason: "references to other zones",
      pattern: #"""
        SELECT t.id FROM \S+ t WHERE t.\w+ = \$1 LIMIT \$2
        """#),
    FanOut(
      reason: "a device shows its token alone, the first time to this server",
      pattern: #"""
        SELECT d.number FROM holdfast.devices d WHERE d.token_hash = \$1
        """#),
    FanOut(
      reason: "a device signs in with its id",
      pattern: #"""
        SELECT number FROM holdfast.devices WHERE id = \$1 AND account = \$2
        """#),
    FanOut(
      reason: "a user loses a zone on all devices",
      pattern: #"""
        SELECT number FROM holdfast.devices WHERE account = \$1
        """#),
    FanOut(
      reason: "a user looks at all devices, and revokes some",
      pattern: #"""
        SELECT number, id, .* FROM holdfast.devices WHERE account = \$1 ORDER BY .*
        """#),
    FanOut(
      reason: "a user exports all devices",
      pattern: #"""
        SELECT d.number, d.id, .* FROM holdfast.devices d LEFT JOIN holdfast.push_tokens p ON p.device = d.number WHERE d.account = \$1 ORDER BY .*
        """#),
    FanOut(
      reason: "a webhook names the devices of users",
      pattern: #"""
        SELECT p.device, .* FROM holdfast.devices d JOIN holdfast.push_tokens p ON p.device = d.number WHERE d.account = ANY \(\$1\) .*
        """#),
    FanOut(
      reason: "a webhook names the devices that follow public zones",
      pattern: #"""
        SELECT p.device, .* FROM holdfast.acks a JOIN .* WHERE a.zone = ANY \(\$1\) AND a.device > \$2 .*
        """#),
    FanOut(
      reason: "a push token moves to another device, or is gone",
      pattern: #"""
        SELECT p.device, p.token_hash FROM holdfast.push_tokens p WHERE p.token_hash = ANY \(\$1\)
        """#),
    FanOut(
      reason: "a user has more devices than the limit",
      pattern: #"""
        SELECT number, id FROM holdfast.devices WHERE account = \$1 ORDER BY .* LIMIT 1 OFFSET \$2
        """#),
    FanOut(
      reason: "a JWT's device is made once",
      pattern: #"""
        SELECT number FROM holdfast.devices WHERE token_hash = \$1
        """#),
    FanOut(
      reason: "a service token may be for all zones",
      pattern: #"""
        SELECT z.zone, z.seq, z.purged, 'owner' FROM holdfast.zones z
        """#),
    FanOut(
      reason: "an invitation's token does not say its zone",
      pattern: #"""
        SELECT .* FROM holdfast.invitations i WHERE i.token_hash = \$1
        """#),
    FanOut(
      reason: "a user has zones on all shards",
      pattern: #"""
        SELECT .* FROM holdfast.access m JOIN holdfast.zones z ON z.zone = m.zone WHERE m.user = \$1
        """#),
    FanOut(
      reason: "how many zones a user has, on all shards",
      pattern: #"""
        SELECT count\(\*\) FROM \(SELECT a.zone FROM holdfast.access a WHERE a.user = \$1 AND a.zone <> ALL \(\$2\) LIMIT \$3\) z
        """#),
    FanOut(
      reason: "how many of them have ended, on all shards",
      pattern: #"""
        SELECT count\(\*\) FROM holdfast.access a JOIN holdfast.zones z ON z.zone = a.zone AND NOT z.public LEFT JOIN .* WHERE a.user = \$1 .*
        """#),
    FanOut(
      reason: "two users may share a zone on any shard",
      pattern: #"""
        SELECT a.zone FROM holdfast.access a JOIN holdfast.access b ON b.zone = a.zone AND b.user = \$2 JOIN .* LIMIT 1
        """#),
    FanOut(
      reason: "a user is invited to zones on all shards",
      pattern: #"""
        SELECT m\..* FROM holdfast.members m .*WHERE m.user = \$1.*
        """#),
    FanOut(
      reason: "a group is named by zones on all shards",
      pattern: #"""
        SELECT m.id, m.zone, m.role FROM holdfast.members m WHERE m.group = \$1
        """#),
    FanOut(
      reason: "a user has left zones on all shards",
      pattern: #"""
        SELECT l.zone FROM holdfast.departures l WHERE l.user = \$1 LIMIT \$2
        """#),
    FanOut(
      reason: "a user's devices are on all shards",
      pattern: #"""
        SELECT a.zone FROM holdfast.devices d JOIN holdfast.acks a ON a.device = d.number AND a.zone = \$2 WHERE d.account = \$1 .* LIMIT 1
        """#),
    FanOut(
      reason: "devices that were never used are on all shards",
      pattern: #"""
        SELECT d.number FROM holdfast.devices d WHERE d.session = 1 AND NOT d.session_used .* LIMIT \$3
        """#),
    FanOut(
      reason: "a device acks zones on all shards",
      pattern: #"""
        SELECT .* FROM holdfast.zones z WHERE z.zone = ANY \(\$1\)
        """#),
    FanOut(
      reason: "the webhook serves all zones",
      pattern: #"""
        SELECT .* FROM holdfast.zones z LEFT JOIN holdfast.notified t .* LIMIT \$1
        """#),
    FanOut(
      reason: "a collection is made of zones on all shards",
      pattern: #"""
        SELECT t.id FROM \S+ t WHERE t.zone = ANY \(\$1\).* LIMIT \$\d+
        """#),
    FanOut(
      reason: "the clock was set back: devices on all shards were seen later",
      pattern: #"""
        SELECT d.number FROM holdfast.devices d WHERE d.seen_at > \$1 OR d.session_at > \$1
        """#),
    FanOut(
      reason: "the clock was set back: requests on all shards were answered later",
      pattern: #"""
        SELECT q.device, q.number FROM holdfast.requests q WHERE q.at > \$1
        """#),
    FanOut(
      reason: "results expire, whosever they are",
      pattern: #"""
        SELECT p.account, p.token_hash FROM holdfast.results p WHERE p.expires <= \$1 OR p.expires > \$2 LIMIT \$3
        """#),
    FanOut(
      reason: "zones on all shards have tombstones",
      pattern: #"""
        SELECT DISTINCT r.zone FROM holdfast.records r WHERE r.state > 0 AND r.zone > \$1 ORDER BY r.zone LIMIT \$2
        """#),
    FanOut(
      reason: "devices of a zone are on all shards",
      pattern: #"""
        SELECT min\(greatest\(a.seq, a.purged\)\) FROM holdfast.acks a JOIN holdfast.devices d ON d.number = a.device WHERE a.zone = \$1 .*
        """#),
    FanOut(
      reason: "devices die on all shards",
      pattern: #"""
        SELECT DISTINCT a.device FROM holdfast.acks a JOIN holdfast.devices d ON d.number = a.device WHERE d.seen_at <= \$1 .* LIMIT \$3
        """#),
    FanOut(
      reason: "devices that a restored server has not heard are on all shards",
      pattern: #"""
        SELECT d.number FROM holdfast.devices d WHERE d.unseen_since_restore AND d.seen_at > \$1 .*LIMIT 1
        """#),
    FanOut(
      reason: "devices that a restored server has not heard die on all shards",
      pattern: #"""
        SELECT d.number FROM holdfast.devices d WHERE d.unseen_since_restore AND d.seen_at <= \$1 .* LIMIT \$3
        """#),
    FanOut(
      reason: "a purged record names no device",
      pattern: #"""
        SELECT c.device, c.request_id, c.place FROM holdfast.created c WHERE c.record_table = \$1 AND c.record_id = ANY \(\$2\)
        """#),
    FanOut(
      reason: "conflicts are purged by their age",
      pattern: #"""
        SELECT c.id, c.zone FROM holdfast.conflicts c WHERE c.id > \$1 AND c.id < \$2 ORDER BY c.id LIMIT \$3
        """#),
    FanOut(
      reason: "answers are purged by their age",
      pattern: #"""
        SELECT q.device, q.number FROM holdfast.requests q WHERE q.at <= \$1 ORDER BY q.at LIMIT \$2
        """#),
    FanOut(
      reason: "operators ask how far devices are behind",
      pattern: #"""
        SELECT d.number, d.id, .* FROM holdfast.devices d WHERE d.account = coalesce\(\$1, d.account\) .* LIMIT \$3
        """#),
    FanOut(
      reason: "devices are on all shards",
      pattern: #"""
        SELECT a.device, a.zone, a.seq FROM holdfast.acks a WHERE a.device = ANY \(\$1\)
        """#),
    FanOut(
      reason: "operators name a device by its id",
      pattern: #"""
        SELECT d.number FROM holdfast.devices d WHERE d.id = \$1
        """#),
    FanOut(
      reason: "a user who is erased has devices on all shards",
      pattern: #"""
        SELECT t.device FROM holdfast.devices d JOIN holdfast.\w+ t ON t.device = d.number WHERE d.account = \$1 LIMIT 1
        """#),
    FanOut(
      reason: "a user who is erased has made invitations to zones on all shards",
      pattern: #"""
        SELECT i.zone, i.id FROM holdfast.invitations i WHERE i.inviter = \$1 LIMIT \$2
        """#),
    FanOut(
      reason: "a user who is erased has left zones on all shards",
      pattern: #"""
        SELECT m.zone FROM holdfast.access m WHERE m.user = \$1 LIMIT 1
        """#),
    FanOut(
      reason: "snapshots are of zones on all shards",
      pattern: #"""
        SELECT z.zone, z.erased FROM holdfast.zones z WHERE z.erased > 0
        """#),
    FanOut(
      reason: "the clock goes on from the latest stamp",
      pattern: #"""
        SELECT coalesce\(max\(clock\), 0\) FROM holdfast.(zones|devices)
        """#),
  ]

  /// What operators ask is of all zones.
  static let operators = [
    // A database of before groups is brought to this form.
    #"SELECT m.zone, m.user, m.role FROM holdfast.members m"#,
    #"SELECT m.zone, count.* GROUP BY m.zone"#,
    #"SELECT r.zone, count.* GROUP BY r.zone"#,
    #"SELECT z.zone, CASE .* FROM holdfast.zones z ORDER BY z.zone"#,
    // What is known of a history before a restore is purged long after it.
    #"SELECT DISTINCT h.zone FROM holdfast.recovered_records h WHERE h.zone > \$1 ORDER BY h.zone LIMIT \$2"#,
    #"SELECT c.zone FROM holdfast.claimed_seqs c WHERE c.zone > \$1 ORDER BY c.zone LIMIT \$2"#,
    // The report of a restore.
    #"SELECT c.account, c.role, .* FROM holdfast.zone_claims c ORDER BY c.zone, c.account"#,
    // A user's claims are looked at after a restore alone.
    #"SELECT (c.zone, c.device, c.state, c.proven|count\(\*\)) FROM holdfast.zone_claims c WHERE c.account = \$1( AND NOT c.proven)?"#,
    #"SELECT d.account, count.* GROUP BY d.account"#,
    #"SELECT d.id, (a.name|CASE a.erasure).* JOIN holdfast.accounts a .*"#,
    #"SELECT account FROM holdfast.devices WHERE id = \$1"#,
    // The console, a page at a time: docs/CONSOLE.md.
    #"SELECT d.number::text, .* FROM holdfast.devices d WHERE .*"#,
    #"SELECT a.device::text, .* FROM holdfast.acks a WHERE .*"#,
    #"SELECT zone, seq::text, .* FROM holdfast.zones WHERE .*"#,
    #"SELECT zone, role FROM holdfast.access WHERE user = \$1 AND zone > \$2 ORDER BY zone LIMIT \$3"#,
    #"SELECT r.device::text, .* FROM holdfast.refusals r WHERE .* LIMIT \$3"#,
    #"SELECT r.record_table, r.zone, r.seq::text, .* WHERE r.id = \$1 ORDER BY .* LIMIT \$2"#,
    #"SELECT id, zone, record_table, .* FROM holdfast.conflicts WHERE .* LIMIT \$2"#,
    #"SELECT loser_at.* FROM holdfast.conflicts .* LIMIT \$1"#,
    #"SELECT r.record_table, r.id FROM holdfast.records r .* HAVING count\(\*\) > 1"#,
    #"SELECT t.id FROM \S+ t LEFT JOIN \S+ p ON p.zone = t.zone .* IS NULL"#,
    #"SELECT p.id FROM \S+ p"#,
    #"SELECT r.id, r.zone FROM holdfast.records r LEFT JOIN holdfast.accounts a ON a.id = r.zone WHERE r.record_table = '\w+' AND .*"#,
    // What access should be is compared with what it is.
    #"SELECT m.zone, m.user, m.group, m.role FROM holdfast.members m WHERE m.invited_by IS NULL"#,
    #"SELECT l.zone, l.user FROM holdfast.departures l"#,
    #"SELECT a.zone, a.user, a.role FROM holdfast.access a"#,
    #"SELECT m.zone, m.account, m.role FROM holdfast.memberships m"#,
    #"SELECT z.zone FROM holdfast.zones z"#,
    #"SELECT t.\w+ FROM \S+ t WHERE t.\w+ IS NOT NULL"#,
    #"SELECT z.zone FROM holdfast.zones z LEFT JOIN .* m.id IS NULL"#,
    #"SELECT t.id FROM \S+ t WHERE t.id = ANY \(\$1\)"#,
    #"SELECT r.zone, max\(r.seq\)::text .* GROUP BY r.zone"#,
    #"SELECT z.zone, z.seq::text .* r.seq IS NULL"#,
    #"SELECT r.zone, min\(r.seq\)::text .* GROUP BY r.zone"#,
    #"SELECT coalesce\(r.id, t.id::text\), .* t.id IS NULL"#,
    #"SELECT d.zone, d.held::text, .* FROM holdfast.zones y LEFT JOIN holdfast.records r ON r.zone = y.zone .*"#,
    #"SELECT r.id FROM holdfast.records r JOIN \S+ t ON t.zone = r.zone AND t.id = r.id .* r.size <> .*"#,
    #"SELECT id, stamps, rev::text FROM holdfast.records .*"#,
    #"SELECT c.zone, coalesce.* FROM holdfast.claimed_seqs c .* GROUP BY c.zone ORDER BY c.zone"#,
  ]
}
