import HoldfastCore
import HoldfastHTTP
import HoldfastServer
import ServerScenes
import TemporaryPostgres
import Testing

/// The service writes while the transaction of an SQL writer is open.
@Suite struct OpenTransactionTests {
  /// Who made the tables: PostgreSQL checks the foreign keys of a team's at once, and Holdfast's own at the commit.
  enum Tables: CaseIterable { case own, adopted }

  private static let schema = """
    {"holdfast": 1, "name": "open", "tables": {
      "projects": {"zone": "root", "columns": {"name": {"type": "text", "required": true}}},
      "tasks": {"zone": {"parent": "project_id"}, "columns": {
        "project_id": {"type": "reference", "to": "projects", "required": true, "on_delete": "cascade"},
        "title": {"type": "text", "required": true},
        "needed_id": {"type": "reference", "to": "projects", "across": true, "on_delete": "cascade"},
        "shown_id": {"type": "reference", "to": "projects", "across": true, "on_delete": "set_null"},
        "after_id": {"type": "reference", "to": "tasks", "across": true, "on_delete": "set_null"}}}
    }}
    """
  private static let team = """
    CREATE TABLE projects (id uuid PRIMARY KEY, name text NOT NULL);
    CREATE TABLE tasks (id uuid PRIMARY KEY, project_id uuid NOT NULL REFERENCES projects ON DELETE CASCADE, title text NOT NULL,
      needed_id uuid REFERENCES projects ON DELETE CASCADE, shown_id uuid REFERENCES projects ON DELETE SET NULL,
      after_id uuid REFERENCES tasks ON DELETE SET NULL);
    CREATE INDEX ON tasks (project_id); CREATE INDEX ON tasks (needed_id); CREATE INDEX ON tasks (shown_id);
    CREATE INDEX ON tasks (after_id);
    """

  /// Sends a request while a transaction is open, and commits that when the request waits for it.
  private func send(
    _ method: String, _ path: String, _ body: JSONValue? = nil, to server: TestServer, by device: TestDevice,
    beside statements: String
  ) throws -> RestClient.Reply {
    let (writer, observer) = (try SQLWriter(server), try SQLWriter(server))
    try writer.run("BEGIN; \(statements)")
    let lent = Lent(value: RestClient(device))
    let request = Background { Lent(value: try lent.value.send(method, path, body)) }
    let blocked = """
      SELECT count(*)::text FROM pg_stat_activity WHERE datname = current_database()
        AND application_name = 'holdfast waits' AND cardinality(pg_blocking_pids(pid)) > 0
      """
    try blockUntil { try observer.texts(blocked) != ["0"] }
    try writer.run("COMMIT")
    return try request.wait().value
  }

  private func makeServer(_ tables: Tables) throws -> TestServer {
    let schema = try SyncSchema(json: Array(Self.schema.utf8))
    if tables == .own { return try TestServer(schema, engine: .postgres) }
    let url = try TemporaryPostgres.shared.makeDatabase()
    try SQLWriter(url: url).run(Self.team)
    try Adoption(PostgresLocation(url)).apply(schema)
    return try TestServer(adopted: url, schema)
  }

  @Test(
    "a deletion finds the reference that an SQL writer in another zone is about to commit (I7, I9)",
    arguments: Tables.allCases, ["needed_id", "shown_id"])
  func reference(tables: Tables, column: String) throws {
    let server = try makeServer(tables)
    let ann = try server.signUp("ann")
    let (kept, gone, task) = (ann.newID(), ann.newID(), ann.newID())
    try ann.sync([
      .create("projects", kept, ["name": "kept"]), .create("projects", gone, ["name": "gone"]),
      .create("tasks", task, ["project_id": .string(kept), "title": "refers"]),
    ])
    let reply = try send(
      "DELETE", "/v1/tables/projects/\(gone)", to: server, by: ann,
      beside: """
        UPDATE tasks SET \(column) = '\(gone)' WHERE id = '\(task)'; SET CONSTRAINTS ALL IMMEDIATE
        """)
    #expect(reply.status == 200)
    try ann.pull()
    #expect(ann.has("tasks", task) == (column == "shown_id"))
    if column == "shown_id" {
      #expect(ann.column("tasks", task, column) == .null)
      #expect(ann.records["tasks \(task)"]?.rev == 3)
    }
    #expect(try server.findings() == [])
  }

  @Test(
    "so does a deletion of a record that goes along with another one (I7, I9)", arguments: Tables.allCases)
  func referenceToCascade(tables: Tables) throws {
    let server = try makeServer(tables)
    let ann = try server.signUp("ann")
    let (kept, gone, below, task) = (ann.newID(), ann.newID(), ann.newID(), ann.newID())
    try ann.sync([
      .create("projects", kept, ["name": "kept"]), .create("projects", gone, ["name": "gone"]),
      .create("tasks", below, ["project_id": .string(gone), "title": "goes along"]),
      .create("tasks", task, ["project_id": .string(kept), "title": "refers"]),
    ])
    let reply = try send(
      "DELETE", "/v1/tables/projects/\(gone)", to: server, by: ann,
      beside: """
        UPDATE tasks SET after_id = '\(below)' WHERE id = '\(task)'; SET CONSTRAINTS ALL IMMEDIATE
        """)
    #expect(reply.status == 200)
    try ann.pull()
    #expect(ann.column("tasks", task, "after_id") == .null)
    #expect(ann.records["tasks \(task)"]?.rev == 3)
    #expect(try server.findings() == [])
  }

  @Test(
    "a write of a record that an SQL writer restores meanwhile waits for it, and is done (I12)",
    arguments: ["PATCH", "DELETE"])
  func restored(method: String) throws {
    let server = try TestServer(engine: .postgres)
    let ann = try server.signUp("ann")
    let list = try ann.makeList()
    let item = try ann.makeItem(list, "gone")
    try ann.sync([.delete("items", item)])
    let reply = try send(
      method, "/v1/tables/items/\(item)", method == "PATCH" ? ["columns": ["note": "edited"]] : nil,
      to: server, by: ann,
      beside: "INSERT INTO items (id, list_id, title) VALUES ('\(item)', '\(list)', 'restored')")
    #expect(reply.status == 200)
    try ann.pull()
    #expect(ann.has("items", item) == (method == "PATCH"))
    if method == "PATCH" { #expect(ann.column("items", item, "note") == "edited") }
    #expect(try server.findings() == [])
  }
}
