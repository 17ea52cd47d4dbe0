import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// Repairs the ledger from the tables after it was bypassed: by disabled triggers, the restore of a single table, or replication. Runs in
/// the transaction of an opening, and locks the tables against writes until its commit. docs/POSTGRES.md, section 4.
struct PostgresRepair {
  let connection: PostgresConnection
  let triggers: TriggerTables
  /// The columns that are not those whose values the devices have: all records of their tables are fed.
  let replaced: [StoredColumns.Replaced]

  /// Compares all tables with the ledger, and settles the records that differ. Before and after it, corrects the zones. A table whose records
  /// can't be taken in stays as it is.
  ///
  /// - Returns: a line for each repaired table, one for each that stays, and one for each of the rest.
  func run() throws -> [String] {
    var lines: [String] = []
    // A record can be settled only in a zone that is there.
    let fence = ZoneFence(connection)
    let lost = try fence.restore()
    for index in triggers.schema.parentsFirst {
      let relation = triggers.relations[index].relation
      try connection.execute("LOCK TABLE \(relation) IN SHARE ROW EXCLUSIVE MODE; SAVEPOINT repaired")
      do {
        if let line = try repair(index) { lines.append(line) }
      } catch let error as ServerError {
        try connection.execute("ROLLBACK TO repaired")
        lines.append("not repaired: \(error)")
      }
      try connection.execute("RELEASE repaired")
    }
    if lost > 0 { lines.append("repaired: the rows of \(lost) zones, which devices load again") }
    let older = try fence.raise()
    if older > 0 { lines.append("repaired: the last seq of \(older) zones") }
    if try DeviceNumbers.mend(on: connection) { lines.append("repaired: the numbers of new devices") }
    return lines
  }

  /// - Returns: a line if there was something to repair.
  private func repair(_ index: Int) throws -> String? {
    let placed = try place(index)
    let count = try connection.query(
      PostgresStatement("SELECT count(*) FROM (\(differences(index, contents: true))) d")
    ).int64(0, 0)
    if count > 0 { try settle(index, contents: true) }
    // A record whose column `zone` alone was wrong does not differ from the ledger any more.
    if count == 0, placed == 0 { return nil }
    return "repaired: \(triggers.schema.tables[index].name), \(max(count, placed)) records"
  }

  /// Settles the records of a table that differ from the ledger, in the order of their ids. The column `zone` names the user of a record that
  /// the ledger does not have.
  ///
  /// - Parameter contents: whether to also settle records that exist in both, if the table's row was written later.
  func settle(_ index: Int, contents: Bool = false) throws {
    let relation = triggers.relations[index]
    let isOfUser = triggers.schema.tables[index].zone == .user && relation.hasZone
    let users =
      isOfUser
      ? """

        LEFT JOIN \(relation.relation) t ON t.\(relation.id.quoted) = \(relation.id.key("s.id"))
        LEFT JOIN holdfast.accounts a ON a.id = t."zone" AND a.erasure = 0
      """ : ""
    try takeIn(
      index,
      """
      DO $holdfast$
      DECLARE
        home text;
        ids text[];
      BEGIN
        FOR home, ids IN SELECT p.home, array_agg(p.id ORDER BY p.id) FROM (
          SELECT s.id, \(isOfUser ? "a.id" : "NULL") AS home, row_number() OVER (ORDER BY s.id) AS place
          FROM (\(differences(index, contents: contents))) s\(users)
        ) p GROUP BY p.home, (p.place - 1) / \(TriggerFunction.portion) ORDER BY min(p.place)
        LOOP
          PERFORM set_config('holdfast.account', coalesce(home, ''), true);
          PERFORM \(triggers.function(index, "settle"))(ids, 'all');
        END LOOP;
        PERFORM set_config('holdfast.account', '', true);
      END $holdfast$
      """)
  }

  /// Corrects the column `zone` from the parent records, as the bypassed trigger would have. The caller feeds the moved records afterwards.
  ///
  /// - Returns: the number of corrected records.
  private func place(_ index: Int) throws -> Int64 {
    let (relation, source) = (triggers.relations[index], triggers.zoneSource(index, home: "NULL"))
    guard relation.hasZone, PlacementFunction(tables: triggers).sql(of: index) != nil else { return 0 }
    try connection.execute("SET LOCAL holdfast.service = 'on'")
    let count = try takeIn(
      index,
      """
      UPDATE \(relation.relation) u SET "zone" = k.zone FROM (
        SELECT t.ctid AS tid, \(source.zone) AS zone FROM \(relation.relation) t\(source.joins)
      ) k WHERE u.ctid = k.tid AND u."zone" <> k.zone
      """)
    try connection.execute("SET LOCAL holdfast.service = ''")
    return count
  }

  /// Changes records of a table. The table's constraints may refuse that.
  ///
  /// - Returns: the number of changed rows, for an UPDATE.
  @discardableResult
  private func takeIn(_ index: Int, _ sql: String) throws -> Int64 {
    do { return Int64(try connection.queryOnce(PostgresStatement(sql)).affectedCount) } catch {
      guard error.code.isConstraint || error.code == .objectNotInPrerequisiteState else { throw error }
      throw ServerError(
        .refused, "The records of \(triggers.schema.tables[index].name) can't be taken in: \(error.message).")
    }
  }

  /// Selects the ids of records that are only in the table or only in the ledger. With `contents`, also those in different zones, and those
  /// whose row is newer than their ledger row, and all of a table with a replaced column; triggers and service write both in one transaction. A
  /// row that SQL updated without a change is among them, and feeding it is harmless. What is left of zones that have moved to another database
  /// stays as it is.
  private func differences(_ index: Int, contents: Bool) -> String {
    let (relation, source) = (triggers.relations[index], triggers.zoneSource(index, home: "NULL"))
    let whole =
      replaced.isEmpty
      ? ""
      : " OR \(PostgresName.literal(relation.relation))::regclass::oid::bigint IN (\(replaced.map { "\($0.number)" }.joined(separator: ", ")))"
    return """
      SELECT DISTINCT coalesce(t.id, l.id) AS id
      FROM (
        SELECT \(relation.id.id("t")) AS id, age(t.xmin) AS age\(contents ? ", \(source.zone) AS zone" : "")
        FROM \(relation.relation) t\(contents ? source.joins : "")
      ) t
      FULL JOIN (
        SELECT r.id, r.zone, age(r.xmin) AS age FROM holdfast.records r
        WHERE r.record_table = \(triggers.name(index)) AND r.state = 0
      ) l ON l.id = t.id
      WHERE (l.id IS NULL OR t.id IS NULL\(contents ? " OR t.age < least(l.age, \(PostgresIdentity.epochAge)) OR t.zone <> l.zone\(whole)" : ""))
        AND NOT EXISTS (SELECT FROM holdfast.zones z WHERE z.zone = l.zone AND z.left_for IS NOT NULL)
      """
  }
}
