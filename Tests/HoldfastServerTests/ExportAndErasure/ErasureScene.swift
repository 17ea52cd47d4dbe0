import Foundation
import HoldfastCore
import HoldfastPostgres
import ServerScenes
import Testing

@testable import HoldfastServer

/// A user with a zone of every kind, who is about to be erased, and those who shared some of them.
final class ErasureScene {
  static let name = "zaphod"
  /// What stands in the user's own zones alone, or names the user or the devices.
  static let secrets =
    kept + [
      // Changed or deleted before: of these SQLite has what it has not written over.
      "own older", "own deleted",
    ]
  static let kept = [
    name, "own list", "own item", "own tag", "own note", "own edit", "own loser", "own request", "own app",
  ]

  let server: TestServer
  let gone: TestDevice
  let second: TestDevice
  let bob: TestDevice
  let carol: TestDevice
  /// A zone of nobody else.
  let own: String
  let ownItem: String
  /// Of which the user is the only owner; bob is an editor, carol a viewer.
  let shared: String
  let sharedItem: String
  /// Of which bob is the owner, the user an editor.
  let guest: String
  /// Of which the user is the only own member; carol is there by `team`, which the user owns.
  let grouped: String
  let team: String
  /// To `shared`.
  let invitation: String

  init() throws {
    server = try TestServer()
    gone = try server.signUp(Self.name)
    bob = try server.signUp("bob")
    carol = try server.signUp("carol")
    second = try server.signIn(Self.name)
    gone.client = ClientVersion(app: "own app", schema: "1")
    own = try gone.makeList("own list")
    ownItem = try gone.makeItem(own, "own item")
    shared = try gone.makeList("shared")
    sharedItem = try gone.makeItem(shared, "for all")
    _ = try gone.share(shared, with: "bob")
    _ = try gone.share(shared, with: "carol", as: .viewer)
    guest = try bob.makeList("guest")
    _ = try bob.share(guest, with: Self.name)
    // One that was ended by a device that did not know it, which is logged.
    let former = try bob.share(bob.makeList("former"), with: Self.name)
    try server.signIn("bob").sync([.delete("members", former, rev: 0)])
    team = try gone.makeList("team")
    _ = try gone.share(team, with: "carol")
    grouped = try gone.makeList("grouped")
    let group: JSONValue = ["zone": .string(grouped), "group": .string(team), "role": "editor"]
    try gone.sync([.create("members", gone.newID(), group)])
    let rest = RestClient(gone)
    let answer = try rest.send(
      "POST", "/v1/zones/\(shared)/invitations", ["role": "editor", "expires_in": 3600, "uses": 2])
    invitation = try #require(answer.json["token"]?.stringValue)
    for device in [gone, second, bob, carol] { try device.pull() }
    try fillOwnZones(rest)
    for device in [bob, carol] { try device.pull() }
  }

  /// Everything that can be kept of zones that nobody else has.
  private func fillOwnZones(_ rest: RestClient) throws {
    let tag: JSONValue = ["list_id": .string(own), "name": "own tag"]
    try gone.sync([.create("tags", gone.newID(), tag)])
    try gone.sync([.create("seals", gone.newID(), ["item_id": .string(ownItem)])])
    try gone.sync([.create("notes", gone.newID(), ["text": "own note", "list_id": .string(own)])])
    let deleted = try gone.makeItem(own, "own deleted")
    try gone.sync([.delete("items", deleted)])
    let note = try gone.makeItem(own, "own older")
    try gone.sync([.update("items", note, ["title": "own edit"])])
    // Of two edits that did not know of each other one is logged.
    try second.sync([.update("items", ownItem, ["note": "own loser"], base: ["note": .null])])
    try gone.sync([.update("items", ownItem, ["note": "own edit"], base: ["note": .null])])
    let body: JSONValue = ["columns": ["list_id": .string(own), "title": "own item"]]
    for _ in 0..<3 { try rest.send("POST", "/v1/tables/items", body, id: "own request \(gone.newID())") }
    try #require(try rest.get("/v1/tables/items?limit=1").json["next"] != nil)
    for zone in [own, shared] {
      try #require(try rest.get("/v1/zones/\(zone)/snapshot").status == 200)
    }
    // A refusal that says what was wrong, and that is not acked.
    let problem = try gone.refused(.create("tags", gone.newID(), tag))
    try #require(problem.code == .uniqueTaken)
  }

  @discardableResult
  func erase(_ device: TestDevice, password: JSONValue? = "correct horse") throws -> RestClient.Reply {
    let body: JSONValue = password.map { ["password": $0] } ?? [:]
    return try RestClient(device).send("DELETE", "/v1/account", body)
  }

  /// Whether somebody is being erased.
  var isUnderWay: Bool {
    get throws { try #require(server.inline).api.database.read { try $0.erasedUser(after: "") } != nil }
  }

  /// Makes passes until nobody is being erased, one at least.
  func finish() throws {
    for number in 0..<4 where try number == 0 || isUnderWay { try #require(server.inline).purge() }
    #expect(try !isUnderWay)
    #expect(try server.findings().isEmpty)
  }

  /// The secrets that are found in what the server has on its disks.
  func leaks(of secrets: [String] = secrets) throws -> [String] {
    var all = try Self.files(in: #require(server.inline?.api.snapshots).cache.folder)
    switch server.location {
    case .directory: all += try Self.files(in: server.path)
    case .postgres(let location):
      let connection = try PostgresConnection(location.direct ?? location.url)
      let tables = try connection.query(
        """
        SELECT format('%I.%I', table_schema, table_name) FROM information_schema.tables
        WHERE table_schema IN ('holdfast', 'public')
        """)
      for row in tables.indices {
        let sql = "SELECT coalesce(string_agg(t::text, ' '), '') FROM \(tables.text(row, 0)) t"
        all.append(Data(try connection.query(PostgresStatement(sql)).text(0, 0).utf8))
      }
    }
    return secrets.filter { secret in
      // What PostgreSQL has in a column of bytes stands in the text as digits.
      [Data(secret.utf8), Data(hexadecimal(Array(secret.utf8)).utf8)].contains { needle in
        all.contains { $0.range(of: needle) != nil }
      }
    }
  }

  private static func files(in folder: String) throws -> [Data] {
    guard let names = FileManager.default.enumerator(atPath: folder) else { return [] }
    return try names.compactMap { name -> Data? in
      let path = "\(folder)/\(name)"
      var isFolder: ObjCBool = false
      guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), !isFolder.boolValue else {
        return nil
      }
      return try Data(contentsOf: URL(fileURLWithPath: path))
    }
  }
}
