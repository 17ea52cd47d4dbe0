import HoldfastPostgres
import HoldfastSQLite

@testable import HoldfastServer

extension TestServer {
  /// What takes a database back to a format from the one behind it, the latest first.
  private static let stepsBack: [(format: Int64, sqlite: String, postgres: String)] = [
    (
      9,
      """
      DROP TABLE holdfast_left; DROP TABLE holdfast_blocks; ALTER TABLE members DROP COLUMN invited_by;
      DROP TABLE holdfast_keys; DROP TABLE holdfast_zone_claims;
      DROP INDEX holdfast_devices_unused; ALTER TABLE holdfast_devices DROP COLUMN session_at;
      """,
      """
      DROP TABLE holdfast.departures, holdfast.blocks, holdfast.keys, holdfast.zone_claims;
      ALTER TABLE holdfast.members DROP COLUMN invited_by;
      DROP INDEX holdfast.devices_unused; ALTER TABLE holdfast.devices DROP COLUMN session_at;
      """
    ),
    (
      8, "ALTER TABLE holdfast_recovered_records DROP COLUMN base;",
      "ALTER TABLE holdfast.recovered_records DROP COLUMN base;"
    ),
    (
      7,
      """
      DROP INDEX holdfast_accounts_erased; ALTER TABLE holdfast_accounts DROP COLUMN erasure;
      DROP INDEX holdfast_zones_erased; ALTER TABLE holdfast_zones DROP COLUMN erased;
      DROP INDEX holdfast_invitations_of_inviter;
      """,
      """
      DROP INDEX holdfast.accounts_erased; ALTER TABLE holdfast.accounts DROP COLUMN erasure;
      DROP INDEX holdfast.zones_erased; ALTER TABLE holdfast.zones DROP COLUMN erased;
      DROP INDEX holdfast.invitations_of_inviter;
      """
    ),
    (
      6,
      """
      ALTER TABLE holdfast_zones DROP COLUMN restored; ALTER TABLE holdfast_devices DROP COLUMN unseen_since_restore;
      DROP TABLE holdfast_recovered_records; DROP TABLE holdfast_claimed_seqs;
      """,
      """
      ALTER TABLE holdfast.zones DROP COLUMN restored; ALTER TABLE holdfast.devices DROP COLUMN unseen_since_restore;
      DROP TABLE holdfast.recovered_records, holdfast.claimed_seqs;
      """
    ),
    (
      5,
      """
      DROP TABLE holdfast_access; DROP TABLE holdfast_invitations; DROP INDEX holdfast_members_unique_1;
      DROP INDEX holdfast_members_of_group; ALTER TABLE members DROP COLUMN "group";
      """,
      """
      DROP TABLE holdfast.access, holdfast.invitations; ALTER TABLE holdfast.members DROP COLUMN "group";
      """
    ),
    (
      4,
      """
      DROP INDEX holdfast_acks_of_zone; DROP INDEX holdfast_requests_of_time;
      ALTER TABLE holdfast_devices DROP COLUMN purged; ALTER TABLE holdfast_devices DROP COLUMN app;
      ALTER TABLE holdfast_devices DROP COLUMN app_schema; ALTER TABLE holdfast_acks DROP COLUMN purged;
      """,
      """
      DROP INDEX holdfast.records_gone; DROP INDEX holdfast.requests_of_time;
      ALTER TABLE holdfast.devices DROP COLUMN purged, DROP COLUMN app, DROP COLUMN app_schema;
      ALTER TABLE holdfast.acks DROP COLUMN purged;
      """
    ),
    (
      3,
      """
      ALTER TABLE holdfast_devices DROP COLUMN scope; ALTER TABLE holdfast_devices DROP COLUMN issued_after;
      DROP TABLE holdfast_identities;
      """,
      """
      ALTER TABLE holdfast.devices DROP COLUMN scope, DROP COLUMN issued_after; DROP TABLE holdfast.identities;
      """
    ),
    (
      2,
      """
      DROP TABLE holdfast_results; DROP TABLE holdfast_result_ids;
      ALTER TABLE holdfast_accounts DROP COLUMN losses;
      """,
      """
      DROP TABLE holdfast.results, holdfast.result_ids; ALTER TABLE holdfast.accounts DROP COLUMN losses;
      """
    ),
    (
      1, "DROP TABLE holdfast_requests; DROP TABLE holdfast_created;",
      "DROP TABLE holdfast.requests, holdfast.created;"
    ),
  ]

  /// The formats that there were before this one.
  static var formerFormats: [Int64] { stepsBack.map(\.format) }

  /// Makes of the database what it was in a format of before. Reopen it then.
  func goBack(to format: Int64) throws {
    inline = nil
    let steps = Self.stepsBack.filter { $0.format >= format }
    try change(
      sqlite: steps.map(\.sqlite).joined() + "PRAGMA user_version = \(format)",
      postgres: steps.map(\.postgres).joined()
        + "UPDATE holdfast.meta SET value = '\(format)' WHERE key = 'format'")
  }
}
