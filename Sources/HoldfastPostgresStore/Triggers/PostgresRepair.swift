import HoldfastCore
import HoldfastPostgres
import HoldfastService

/// Makes the ledger say what the tables say, after it was bypassed: triggers were switched off, a table was restored by itself, rows were
/// copied by replication. In the transaction of an opening; nobody writes the tables until its commit. docs/POSTGRES.md, section 4.
struct PostgresRepair {
  let connection: PostgresConnection
  let triggers: TriggerTables

  /// Compares all tables with the ledger and feeds what differs. Then zones say what the ledger says.
  ///
  /// - Returns: a line for each table in which something was fed.
  func run() throws -> [String] {
    var lines: [String] = []
    for index in triggers.schema.tables.indices {
      let relation = triggers.relations[index].relation
      try connection.execute("LOCK TABLE \(relation) IN SHARE ROW EXCLUSIVE MODE")
      try place(index)
      let count = try connection.query(
        PostgresStatement("SELECT count(*) FROM (\(differences(index, contents: true))) d")
      ).int64(0, 0)
      if count == 0 { continue }
      try settle(index, contents: true)
      lines.append("repaired: \(triggers.schema.tables[index].name), \(count) records")
    }
    try connection.execute(
      """
      INSERT INTO holdfast.zones (zone, seq) SELECT r.zone, max(r.seq) FROM holdfast.records r GROUP BY r.zone
      ON CONFLICT (zone) DO UPDATE SET seq = greatest(zones.seq, excluded.seq)
      """)
    return lines
  }

  /// Settles the records of a table that differ from the ledger, in the order of their ids.
  ///
  /// - Parameter contents: whether what is in table and ledger alike is fed, too, where its row was written later.
  func settle(_ index: Int, contents: Bool = false) throws {
    try takeIn(
      index,
      """
      DO $holdfast$
      DECLARE
        ids text[];
      BEGIN
        FOR ids IN SELECT array_agg(p.id ORDER BY p.id) FROM (
          SELECT s.id, row_number() OVER (ORDER BY s.id) AS place FROM (\(differences(index, contents: contents))) s
        ) p GROUP BY (p.place - 1) / \(TriggerFunction.portion) ORDER BY min(p.place)
        LOOP
          PERFORM \(triggers.function(index, "settle"))(ids, true);
        END LOOP;
      END $holdfast$
      """)
  }

  /// Brings the column `zone` to what the records above say, as the trigger does that may have been bypassed. What moved is fed afterwards.
  private func place(_ index: Int) throws {
    let (relation, source) = (triggers.relations[index], triggers.zoneSource(index, home: "NULL"))
    guard relation.hasZone, PlacementFunction(tables: triggers).sql(of: index) != nil else { return }
    try takeIn(
      index,
      """
      SET LOCAL holdfast.service = 'on';
      UPDATE \(relation.relation) u SET "zone" = k.zone FROM (
        SELECT t.ctid AS tid, \(source.zone) AS zone FROM \(relation.relation) t\(source.joins)
      ) k WHERE u.ctid = k.tid AND u."zone" <> k.zone;
      SET LOCAL holdfast.service = ''
      """)
  }

  /// Changes records of a table, which its constraints may forbid.
  private func takeIn(_ index: Int, _ sql: String) throws {
    do { try connection.execute(sql) } catch {
      guard error.code.isConstraint else { throw error }
      throw ServerError(
        .refused, "The records of \(triggers.schema.tables[index].name) can't be taken in: \(error.message).")
    }
  }

  /// The ids of records that table or ledger has alone. With `contents` also those that are in another zone than the ledger says, and those whose
  /// row was written by a later transaction than its row of the ledger: triggers and service write both in one. A row that SQL wrote without a
  /// change is among them; feeding it does no harm.
  private func differences(_ index: Int, contents: Bool) -> String {
    let (relation, source) = (triggers.relations[index], triggers.zoneSource(index, home: "NULL"))
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
      WHERE l.id IS NULL OR t.id IS NULL\(contents ? " OR t.age < l.age OR t.zone <> l.zone" : "")
      """
  }
}
