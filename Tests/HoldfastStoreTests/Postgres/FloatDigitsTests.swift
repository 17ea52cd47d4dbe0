import HoldfastCore
import HoldfastServer
import ServerScenes
import TemporaryPostgres
import Testing

/// A database that is set to write numbers out with fewer digits than they have.
@Suite struct FloatDigitsTests {
  private static let setting = """
    DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET extra_float_digits = -5', current_database()); END $$
    """

  @Test("the greatest numbers are no doubts") func doubts() throws {
    let schema = """
      {"holdfast": 1, "name": "digits", "tables": {"things": {"zone": {"public": "all"}, "columns": {"weight": {"type": "real"}}}}}
      """
    let server = try TestServer(SyncSchema(json: Array(schema.utf8)), engine: .postgres)
    let sql = try SQLWriter(server)
    try sql.run(Self.setting)
    try sql.run(
      "INSERT INTO things (weight) VALUES (1.7976931348623157e308), (-1.7976931348623157e308), (0.1)")
    #expect(try Administration(server.location).doubts() == [])
  }

  @Test("a team's real numbers reach the devices whole (I7)") func reals() throws {
    let url = try TemporaryPostgres.shared.makeDatabase()
    let sql = try SQLWriter(url: url)
    try sql.run(
      "CREATE TABLE things (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), weight real); \(Self.setting)")
    let server = try TestServer(adopting: url)
    let ann = try server.signUp("ann")
    let thing = ann.newID()
    try ann.sync([.create("things", thing, ["weight": 0.1234567])])
    try ann.pull()
    #expect(ann.column("things", thing, "weight") == 0.1234567)
    #expect(try RestClient(ann).get("/v1/tables/things/\(thing)").column("weight") == 0.1234567)
  }
}
