import Foundation
import HoldfastCore
import HoldfastHTTP
import HoldfastPostgres
import Synchronization
@testable import HoldfastServer
import TemporaryPostgres
import Testing

/// Tables that are distributed by zone: docs/POSTGRES.md, section 7. The contract's suite runs on them too, with HOLDFAST_TEST_STORE=distributed.
@Suite struct ShardTests {
  /// A place for a distributed database, and what is said to it.
  private func watched() throws -> (PostgresLocation, ShardWatch) {
    guard case .postgres(var location) = try Engine.distributed.makeLocation(in: URL(fileURLWithPath: "/"))
    else { throw PostgresOnly() }
    let watch = ShardWatch()
    location.onStatement = { watch.see($0) }
    return (location, watch)
  }

  private struct PostgresOnly: Error {}

  @Test("what a server and its operators say goes to one shard each, but for reads that are known to ask all")
  func statements() throws {
    let (location, watch) = try watched()
    let provider = TestProvider()
    let server = try TestServer(
      location: { _ in .postgres(location) }, provider: provider.configuration)
    let alice = try server.signUp("alice")
    let bob = try server.signUp("bob")
    let list = try alice.makeList()
    let other = try alice.makeList("Other")
    let item = try alice.makeItem(list)
    let tag = alice.newID()
    #expect(try alice.get(try #require(try alice.get("/v1/tables/lists?limit=1").next)).status == 200)
    let membership = try alice.share(list, with: "bob")
    try bob.pull()
    try alice.sync([.create("tags", tag, ["list_id": .string(list), "name": "red"])])
    try alice.sync([.update("items", item, ["tag_id": .string(tag)])])
    #expect(try alice.get("/v1/zones/\(list)/grants").status == 200)
    try bob.sync([.create("notes", bob.newID(), ["text": "see", "list_id": .string(list)])])
    try alice.sync([.update("items", item, ["list_id": .string(other), "tag_id": .null])])
    try alice.sync([.delete("tags", tag)])
    try alice.sync([.delete("members", membership)])
    try bob.pull()
    try writeREST(RestClient(alice), list)
    // Else the next request were an old one: a write over REST counts as one of the device's.
    alice.lastServerClock = nil
    try alice.sync([.delete("lists", list)], complete: true)
    _ = try server.signIn("alice", device: alice.id)
    let pushToken = try RestClient(bob).send("PUT", "/v1/push-token", ["kind": "apns", "token": "one"])
    #expect(pushToken.status == 204)
    try reachLimit(bob, server)
    try told(location, server)
    try listAll(location)
    try identify(provider, alice, location)
    _ = try Administration(.postgres(location)).reset(.all, zone: nil)
    #expect(try bob.get("/v1/zones/\(bob.user)/snapshot").status == 200)
    let erasure = try RestClient(bob).send("DELETE", "/v1/account", ["password": "correct horse"])
    #expect(erasure.status == 204)
    server.world.advance(100 * RetentionTests.day)
    let purged = try #require(server.inline).purge()
    #expect(purged.tombstones > 0 && purged.acks > 0)
    server.world.setClock(ahead: -10 * RetentionTests.day)
    #expect(try #require(server.inline).purge() == Purged())
    #expect(try server.findings().isEmpty)
    let flat = watch.statements.map { $0.replacing("\"", with: "").replacing(/\s+/, with: " ") }
    for fanOut in ShardRules.fanOuts {
      #expect(flat.contains { ShardRules.matches($0, fanOut.pattern) }, "\(fanOut.reason)")
    }
  }

  private func identify(_ provider: TestProvider, _ alice: TestDevice, _ location: PostgresLocation) throws {
    let server = alice.server
    let jwt = provider.token(TestProvider.claims(at: server.world.now))
    #expect(try server.send("GET", "/v1/zones", token: jwt).status == 200)
    let administration = try Administration(.postgres(location), environment: server.world.environment)
    let token = try administration.createToken(name: "all", role: .viewer, tables: nil, zones: nil)
    #expect(try server.send("GET", "/v1/tables/lists", token: token).status == 200)
    try administration.revoke(device: try #require(try administration.tokens().rows.first)[0])
    let look = TestServer.request(
      "POST", "/v1/invitations/look", Array("{\"token\":\"unknown\"}".utf8), token: nil)
    #expect(try server.respond(to: look).status == 404)
    let phone = try server.signIn("alice")
    #expect(try phone.get("/v1/devices").body["devices"]?.elements?.count == 2)
    #expect(try server.send("DELETE", "/v1/sessions", token: phone.token).status == 204)
  }

  /// A user has as many zones as a user may have.
  private func reachLimit(_ user: TestDevice, _ server: TestServer) throws {
    let limits = server.world.limits.withLock { $0 }
    server.world.limits.withLock { $0.zones = 1 }
    try server.reopen()
    #expect(try user.refused(.create("lists", user.newID(), ["title": "One more"])).code == .userLimit)
    server.world.limits.withLock { $0 = limits }
    try server.reopen()
  }

  private func writeREST(_ rest: RestClient, _ list: String) throws {
    let item = try rest.create("items", ["list_id": .string(list), "title": "Tea"])
    for _ in 0..<2 {
      let reply = try rest.send(
        "PUT", "/v1/tables/items/\(item)", ["columns": ["list_id": .string(list), "title": "x"]], id: "put")
      #expect(reply.status == 200)
    }
    #expect(try rest.get("/v1/tables/items?ids=\(item),\(list)").statuses == [200, 404])
    #expect(
      try rest.batch([["op": "delete", "table": "items", "id": .string(item)]], id: "batch").status == 200)
  }

  private func told(_ location: PostgresLocation, _ server: TestServer) throws {
    let database = try PostgresDatabase(location, schema: nil, random: { server.world.random($0) })
    defer { database.close() }
    let all = try database.read { try $0.unnotified(nil, limit: 100) }
    let audiences: [PushAudience] = [.users(all.flatMap(\.users)), .followers(["catalogue"])]
    for audience in audiences {
      #expect(try database.read { try $0.pushTargets(audience, after: 0, limit: 10) }.count <= 1)
    }
    #expect(!all.isEmpty)
    #expect(try database.read { try $0.unnotified(all.map(\.zone), limit: 100) }.count == all.count)
    let store = try database.store()
    _ = try store.begin([Footprint()])
    // Asked for after a restore alone.
    #expect(try !store.devices.hasAck(of: "none", by: "nobody", notOf: ""))
    try store.zones.setNotified(all.map { NotifiedZone(zone: $0.zone, seq: $0.seq) })
    try store.commit(Delta(newZones: [], records: []), announcing: ZoneChanges())
    try store.close()
    #expect(try database.read { try $0.unnotified(nil, limit: 100) }.isEmpty)
  }

  private func listAll(_ location: PostgresLocation) throws {
    let administration = try Administration(.postgres(location))
    #expect(try administration.zones().rows.count > 2)
    #expect(try administration.users().rows.map { $0[3] } == ["1", "1"])
    #expect(try administration.devices().rows.count == 2)
    _ = try administration.conflicts()
  }

  @Test("tables take their shards by statements that a cluster takes")
  func distribution() throws {
    let schema = try TestServer.schema()
    let tables = PostgresTables(schema: schema, namespace: "public", isDistributed: true)
    #expect(ShardRules.faults(PostgresTables.own(isDistributed: true)) == [])
    for index in schema.tables.indices {
      #expect(
        (tables.references(of: index) + [tables.create(index)]).allSatisfy { ShardRules.faults($0) == [] })
    }
    let places = PostgresShards.distribution + PostgresShards.distribute("public.\"items\"")
    #expect(places.contains("create_reference_table('holdfast.accounts')"))
    #expect(
      places.contains("create_distributed_table('holdfast.zones', 'zone', colocate_with => 'none')"))
    #expect(
      places.contains(
        "create_distributed_table('public.\"items\"', 'zone', colocate_with => 'holdfast.zones')"))
    #expect(
      places.contains(
        "create_distributed_table('holdfast.acks', 'device', colocate_with => 'holdfast.devices')"))
  }

  @Test(
    "the rules see what a cluster would refuse, or do on all shards",
    arguments: [
      "CREATE TABLE public.items (id text COLLATE C PRIMARY KEY, zone text)",
      "CREATE TABLE holdfast.devices (number bigint PRIMARY KEY, token_hash bytea UNIQUE)",
      "CREATE UNIQUE INDEX names ON public.items (title)",
      "ALTER TABLE public.items ADD FOREIGN KEY (list_id) REFERENCES public.lists (id)",
      "CREATE TRIGGER x AFTER INSERT ON public.items EXECUTE FUNCTION y()",
      "SELECT zone FROM holdfast.zones WHERE seq = $1",
      "SELECT t.id FROM public.items t JOIN holdfast.records r ON r.id = t.id WHERE t.zone = $1",
      "SELECT zone FROM holdfast.zones WHERE zone = ANY ($1) FOR NO KEY UPDATE",
      "SELECT a.seq FROM holdfast.acks a JOIN holdfast.zones z ON z.zone = a.zone WHERE a.device = $1",
      "UPDATE holdfast.zones SET seq = $2",
      "UPDATE holdfast.zones SET seq = $2, clock = now() WHERE zone = $1",
      "UPDATE public.items t SET zone = $3 WHERE t.zone = $1 AND t.id = $2",
      "INSERT INTO holdfast.zones (zone, seq) SELECT * FROM unnest($1::text[], $2::bigint[])",
      "INSERT INTO holdfast.notified AS t (zone, seq) VALUES ($1, $2) ON CONFLICT (seq) DO UPDATE SET seq = excluded.seq",
      "DELETE FROM holdfast.refusals WHERE last <= $1",
    ])
  func refused(_ sql: String) { #expect(ShardRules.faults(sql) != []) }

  @Test("a database keeps its layout, and a cluster is asked for Citus")
  func layouts() throws {
    let schema = try TestServer.schema()
    let (location, _) = try watched()
    var plain = location
    plain.distribution = .none
    #expect(throws: ServerError.self) { try open(plain, nil) }
    try open(location, schema)
    try open(location, nil)
    #expect(message { try open(plain, nil) }.contains("Start with --citus"))
    #expect(message { try Adoption(plain).apply(schema) }.contains("can't be adopted"))
    var other = PostgresLocation(try TemporaryPostgres.shared.makeDatabase())
    other.isDistributed = true
    #expect(message { try open(other, schema) }.contains("has no Citus"))
    other.isDistributed = false
    try open(other, schema)
    other.distribution = .formAlone
    #expect(message { try open(other, nil) }.contains("Start without --citus"))
  }

  private func open(_ location: PostgresLocation, _ schema: SyncSchema?) throws {
    _ = try PostgresOpening.open(location, schema: schema) { [UInt8](repeating: 1, count: $0) }
  }

  private func message(_ body: () throws -> Void) -> String {
    do { try body() } catch { return "\(error)" }
    return ""
  }

  @Test("commands on different zones are written at once; a zone that somebody holds is put off")
  func held() throws {
    let (location, _) = try watched()
    let server = try TestServer { _ in .postgres(location) }
    let alice = try server.signUp("alice")
    let list = try alice.makeList()
    let database = try PostgresDatabase(location, schema: nil, random: { server.world.random($0) })
    defer { database.close() }
    #expect(database.writers.count > 1 && database.writers.batch == 1)
    let (one, two) = (try database.store(), try database.store())
    var footprint = Footprint()
    footprint.zones = [list]
    #expect(try one.begin([footprint]).waiting.isEmpty)
    #expect(try two.begin([footprint, Footprint()]).waiting == [0])
    one.rollBack()
    two.rollBack()
    #expect(try two.begin([footprint]).waiting.isEmpty)
    try one.close()
    try two.close()
  }

  @Test("who waits for a lock in vain is told to try again")
  func late() throws {
    let (location, _) = try watched()
    let server = try TestServer { _ in .postgres(location) }
    let alice = try server.signUp("alice")
    let list = try alice.makeList()
    let database = try PostgresDatabase(location, schema: nil, random: { server.world.random($0) })
    defer { database.close() }
    let (one, patient) = (try database.store(), try #require(try database.slowStore()))
    var footprint = Footprint()
    footprint.zones = [list]
    #expect(try one.begin([footprint]).waiting.isEmpty)
    do {
      _ = try patient.begin([footprint])
      Issue.record("It did not wait.")
    } catch {
      guard case .transient = patient.meaning(of: error) else { throw error }
    }
    one.rollBack()
    patient.rollBack()
    #expect(try patient.begin([footprint]).waiting.isEmpty)
    try one.close()
    try patient.close()
  }
}
