import HoldfastCore

/// The layout of a database whose tables are distributed over the nodes of a Citus cluster: docs/POSTGRES.md, section 7.
enum PostgresShards {
  /// Which tables are where.
  enum Place: Hashable {
    /// By this column, on the shards of a zone or a device.
    case by(String)
    /// A copy on each node.
    case everywhere
  }

  /// The schema `holdfast`, in the form that takes shards: each key has the column by which its table is distributed, and no reference goes
  /// from one shard to another. What can't be unique over all shards is made of random bits.
  static let own =
    PostgresTables.ofBothLayouts + """
      CREATE SEQUENCE holdfast.device_numbers;
      CREATE TABLE holdfast.devices (
        number bigint PRIMARY KEY, id text COLLATE "C" NOT NULL, account text COLLATE "C" NOT NULL, name text NOT NULL,
        token_hash bytea, confirmed bigint NOT NULL DEFAULT 0, chain bigint NOT NULL DEFAULT 0,
        acknowledged_refusals bigint NOT NULL DEFAULT 0, clock bigint NOT NULL, seen_at bigint NOT NULL,
        session bigint NOT NULL DEFAULT 1, session_used boolean NOT NULL DEFAULT false,
        applied bytea NOT NULL DEFAULT '', \(PostgresTables.deviceCheck)
      ) WITH (fillfactor = 50);
      CREATE INDEX devices_of_account ON holdfast.devices (account);
      CREATE INDEX devices_of_token ON holdfast.devices (token_hash);

      """

  /// Where Holdfast's own tables are, in the order in which they are put there, with the number of the migration that makes them.
  static let places: [(relation: String, place: Place, format: Int64)] = [
    ("holdfast.meta", .everywhere, 1), ("holdfast.tables", .everywhere, 1),
    ("holdfast.accounts", .everywhere, 1),
    ("holdfast.zones", .by("zone"), 1), ("holdfast.records", .by("zone"), 1),
    ("holdfast.notified", .by("zone"), 1),
    ("holdfast.devices", .by("number"), 1), ("holdfast.acks", .by("device"), 1),
    ("holdfast.refusals", .by("device"), 1), ("holdfast.requests", .by("device"), 2),
    ("holdfast.created", .by("device"), 2),
    ("holdfast.results", .by("account"), 3), ("holdfast.result_ids", .by("account"), 3),
    ("holdfast.identities", .everywhere, 4), ("holdfast.access", .by("zone"), 6),
    ("holdfast.invitations", .by("zone"), 6),
    ("holdfast.recovered_records", .by("zone"), 7), ("holdfast.claimed_seqs", .by("zone"), 7),
    ("holdfast.departures", .by("zone"), 10), ("holdfast.blocks", .everywhere, 10),
    ("holdfast.keys", .everywhere, 10), ("holdfast.zone_claims", .by("zone"), 10),
  ]

  /// The statements that put Holdfast's own tables in their places: those that a database of a format has not had.
  static func distribution(after format: Int64 = 0) -> String {
    places.filter { $0.format > format }.map { put($0.relation, $0.place) }.joined()
  }

  /// The statement that puts a table of the schema on the shards of its zones.
  static func distribute(_ relation: String) -> String { put(relation, .by("zone")) }

  private static func put(_ relation: String, _ place: Place) -> String {
    let name = PostgresName.literal(relation)
    switch place {
    case .everywhere: return "SELECT create_reference_table(\(name));\n"
    case .by(let column):
      let first =
        switch column {
        case "zone": "holdfast.zones"
        case "account": "holdfast.results"
        default: "holdfast.devices"
        }
      let group = relation == first ? "none" : first
      return "SELECT create_distributed_table(\(name), '\(column)', colocate_with => '\(group)');\n"
    }
  }
}

extension PostgresTables {
  /// The first columns of a distributed table, and its key.
  static let shardKey = [
    "\"id\" text COLLATE \"C\" NOT NULL", "\"zone\" text COLLATE \"C\" NOT NULL",
    "PRIMARY KEY (\"zone\", \"id\")",
  ]

  /// The statement that adds a reference's foreign key in a distributed table; nil for a reference to another zone, which may be on another
  /// node. The service does what the schema says when a parent is deleted: the key sees that nothing was purged.
  func shardReference(of link: SyncSchema.Link, isChecked: Bool) -> String? {
    if !link.isInZone { return nil }
    let (table, column) = (
      schema.tables[link.table].name, schema.tables[link.table].columns[link.column].name
    )
    return """
      ALTER TABLE \(relation(of: link.table)) ADD CONSTRAINT \(PostgresName.made(table, column, "fkey"))
        FOREIGN KEY ("zone", "\(column)") REFERENCES \(relation(of: link.target)) ("zone", "id")
        DEFERRABLE INITIALLY DEFERRED\(isChecked ? "" : " NOT VALID")
      """
  }

  /// The statements that add a column to a table that stands. Citus takes a check in a statement of its own alone.
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
