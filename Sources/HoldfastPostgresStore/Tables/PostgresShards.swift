import HoldfastCore
import HoldfastService

/// The layout of tables on a Citus cluster: docs/POSTGRES.md, section 7.
package enum PostgresShards {
  /// The placement of a table.
  package enum Place: Hashable {
    /// Distributed by this column.
    case by(String)
    /// A reference table, with a copy on each node.
    case everywhere
  }

  /// The placements of Holdfast's own tables, in the order of their distribution.
  package static let places: [(relation: String, place: Place)] = [
    ("holdfast.meta", .everywhere), ("holdfast.tables", .everywhere), ("holdfast.accounts", .everywhere),
    ("holdfast.zones", .by("zone")), ("holdfast.records", .by("zone")), ("holdfast.notified", .by("zone")),
    ("holdfast.devices", .by("number")), ("holdfast.acks", .by("device")),
    ("holdfast.push_tokens", .by("device")),
    ("holdfast.refusals", .by("device")), ("holdfast.requests", .by("device")),
    ("holdfast.created", .by("device")),
    ("holdfast.results", .by("account")), ("holdfast.result_ids", .by("account")),
    ("holdfast.identities", .everywhere), ("holdfast.access", .by("zone")),
    ("holdfast.memberships", .by("account")),
    ("holdfast.invitations", .by("zone")),
    ("holdfast.recovered_records", .by("zone")), ("holdfast.claimed_seqs", .by("zone")),
    ("holdfast.departures", .by("zone")), ("holdfast.blocks", .everywhere),
    ("holdfast.keys", .everywhere), ("holdfast.zone_claims", .by("zone")),
    ("holdfast.audit", .everywhere), ("holdfast.samples", .everywhere),
  ]

  /// The tables that the form for shards has beside those of a single database. Other tables' rows say what is in them.
  package static let derived = ["holdfast.memberships"]

  /// Fills the derived tables.
  package static let derivation = """
    INSERT INTO holdfast.memberships (account, zone, role) SELECT a."user", a.zone, a.role FROM holdfast.access a
    """

  /// Gives the next number of a device. On a cluster it is one of which the node has the device's rows that has the private zone of the
  /// account: a write there is a transaction of one node. Where shards have moved apart, any number will do.
  package static func numbering(isSpread: Bool) -> String {
    let next = "SELECT nextval('holdfast.device_numbers')"
    let node = { (relation: String, value: String) in
      """
      (SELECT p.groupid FROM pg_catalog.pg_dist_placement p
        WHERE p.shardid = pg_catalog.get_shard_id_for_distribution_column('\(relation)', \(value)))
      """
    }
    let near = """
      SELECT coalesce((
        SELECT d.number FROM (SELECT nextval('holdfast.device_numbers') AS number FROM generate_series(1, 32) OFFSET 0) d
        WHERE \(node("holdfast.devices", "d.number")) = \(node("holdfast.zones", "$1")) LIMIT 1
      ), nextval('holdfast.device_numbers'))
      """
    return """
      CREATE FUNCTION holdfast.next_device(account text) RETURNS bigint LANGUAGE sql VOLATILE AS $$ \(isSpread ? near : next) $$;
      """
  }

  /// The statements that distribute Holdfast's own tables.
  package static var distribution: String { places.map { put($0.relation, $0.place) }.joined() }

  /// The statement that distributes a table of the schema by zone.
  package static func distribute(_ relation: String) -> String { put(relation, .by("zone")) }

  private static func put(_ relation: String, _ place: Place) -> String {
    let name = PostgresName.literal(relation)
    switch place {
    case .everywhere: return "SELECT create_reference_table(\(name));\n"
    case .by(let column):
      let first =
        switch column {
        case "number", "device": "holdfast.devices"
        // An account's rows are on the shard of its private zone, which has the same name.
        default: "holdfast.zones"
        }
      let group = relation == first ? "none" : first
      return "SELECT create_distributed_table(\(name), '\(column)', colocate_with => '\(group)');\n"
    }
  }
}

extension PostgresTables {
  /// The first columns and the primary key of a distributed table.
  static let shardKey = [
    "\"id\" text COLLATE \"C\" NOT NULL", "\"zone\" text COLLATE \"C\" NOT NULL",
    "PRIMARY KEY (\"zone\", \"id\")",
  ]

  /// The statement that adds the foreign key of a reference to a distributed table. Nil for a reference to another zone, which may be on
  /// another node. The service applies the delete rule; the key only verifies it.
  func shardReference(of link: SyncSchema.Link, isChecked: Bool) -> String? {
    if !link.isInZone { return nil }
    let column = schema.tables[link.table].columns[link.column].name
    return """
      ALTER TABLE \(relation(of: link.table)) ADD CONSTRAINT \(referenceName(of: link))
        FOREIGN KEY ("zone", "\(column)") REFERENCES \(relation(of: link.target)) ("zone", "id")
        DEFERRABLE INITIALLY DEFERRED\(isChecked ? "" : " NOT VALID")
      """
  }

  /// The statements that add a column to an existing table. Citus accepts a check only in a separate statement.
  func additions(of column: Int, to index: Int) -> [String] {
    let relation = relation(of: index)
    if !isDistributed { return ["ALTER TABLE \(relation) ADD COLUMN \(self.column(column, of: index))"] }
    let definition = schema.tables[index].columns[column]
    let plain = "ALTER TABLE \(relation) ADD COLUMN \(self.column(column, of: index, isChecked: false))"
    guard let check = definition.type.postgresCheck(of: "\"\(definition.name)\"") else { return [plain] }
    let name = PostgresName.made(schema.tables[index].name, definition.name, "check")
    return [plain, "ALTER TABLE \(relation) ADD CONSTRAINT \(name) CHECK (\(check))"]
  }
}
