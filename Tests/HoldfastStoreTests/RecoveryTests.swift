import Foundation
import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Testing

@testable import HoldfastServer

@Suite("Recovery of a zone that a restore has lost")
struct RecoveryTests {
  func returned(_ device: TestDevice, _ items: [JSONValue]) throws -> [ProblemCode] {
    let body: JSONValue = [
      "protocol": 1, "acknowledged_refusals": .integer(device.answers), "digest": .string(device.digest),
      "recovered": .array(items),
    ]
    let answer = try device.apply(try device.server.post("/v1/sync", body, token: device.token))
    return try #require(answer.recovered).refused.compactMap { Problem(document: $0.problem)?.code }
  }

  func root(_ list: String, _ title: String, rev: Int64 = 1) -> JSONValue {
    [
      "table": "lists", "id": .string(list), "zone": .string(list), "rev": .integer(rev),
      "columns": ["title": .string(title)],
    ]
  }

  func member(_ id: String, _ device: TestDevice, _ list: String, _ role: Role, rev: Int64)
    -> JSONValue
  {
    [
      "table": "members", "id": .string(id), "zone": .string(list), "rev": .integer(rev),
      "columns": ["user": .string(device.user), "role": .string(role.rawValue)],
    ]
  }

  /// A list of anna's that bob has too, of which the backup has nothing.
  struct Lost {
    let server: TestServer
    let anna: TestDevice
    let bob: TestDevice
    let list: String
    let membership: String

    /// - Parameter later: what is done when bob's device has heard the last.
    init(
      _ role: Role, later: (TestDevice, _ list: String, _ membership: String) throws -> Void = { _, _, _ in }
    ) throws {
      let before = try TestServer()
      anna = try before.signUp("anna")
      bob = try before.signUp("bob")
      for device in [anna, bob] { try device.pull() }
      let backup = try before.backUp()
      list = try anna.makeList("Lost")
      membership = try anna.share(list, with: "bob", as: role)
      for device in [anna, bob] { try device.pull() }
      try later(anna, list, membership)
      try anna.pull()
      server = try before.restored(backup)
      for device in [anna, bob] { device.server = server }
    }

    /// A device says what it has.
    func comeBack(_ device: TestDevice) throws -> SyncAnswer {
      let answer = try device.sync(complete: true)
      try device.pull()
      return answer
    }

    var owners: [String] { get throws { try members.filter { $0.1 == .owner }.map(\.0) } }

    var members: [(String, Role)] {
      get throws {
        let store = try #require(server.inline).service.work.store
        _ = try store.begin([])
        defer { store.rollBack() }
        return try store.zones.members(of: list).compactMap { member in
          member.isPending ? nil : member.user.map { ($0, member.role) }
        }
      }
    }
  }

  @Test("a former viewer's proof makes no zone, and its owner's does (I10)")
  func viewer() throws {
    let lost = try Lost(.viewer)
    let answer = try lost.comeBack(lost.bob)
    #expect(answer.awaitingRecovery.map(\.zone) == [lost.list])
    #expect(answer.awaitingRecovery.first?.until ?? 0 > lost.server.world.now)
    #expect(answer.wanted == [lost.list])
    #expect(try returned(lost.bob, [root(lost.list, "Mine")]) == [.recordUnknown])
    #expect(
      try returned(lost.bob, [member(lost.bob.newID(), lost.bob, lost.list, .owner, rev: 9)]) == [
        .recordUnknown
      ])
    #expect(try lost.members.isEmpty)
    func claims() throws -> [[String]] {
      try Administration(lost.server.location).recoveryClaims().rows.map {
        [$0[0], $0[1], $0[2], $0[3], $0[7]]
      }
    }
    #expect(try claims() == [[lost.list, "bob", "viewer", "yes", "waiting"]])
    _ = try lost.comeBack(lost.anna)
    #expect(try lost.owners == [lost.anna.user])
    // Nothing is left to decide.
    let settled = [["anna", "owner", "yes", "granted"], ["bob", "viewer", "yes", "zone exists"]]
    #expect(try claims() == settled.map { [lost.list] + $0 })
    #expect(
      try returned(
        lost.anna, [root(lost.list, "Lost"), member(lost.membership, lost.bob, lost.list, .viewer, rev: 1)]
      ).isEmpty)
    try lost.bob.pull()
    #expect(lost.bob.column("lists", lost.list, "title") == "Lost")
    #expect(try lost.bob.refused(.update("lists", lost.list, ["title": "Mine"])).code == .roleInsufficient)
    #expect(try lost.server.findings().isEmpty)
  }

  @Test("a proof is good for its user, zone, role, moment and server alone (I10)")
  func forged() throws {
    let lost = try Lost(.viewer)
    let own = try #require(lost.bob.proofs[lost.list])
    let owners = try #require(lost.anna.proofs[lost.list])
    let other = try TestServer()
    _ = other.world.random(77)
    let stranger = Prover(key: other.world.random(Prover.keySize))
    let words = own.split(separator: ".")
    let epoch = String(words[0])
    let forgeries = [
      owners, own.replacing("viewer", with: "owner"), own.replacing(".\(words[1]).", with: ".99."), "",
      "....",
      stranger.proof(of: .init(epoch: epoch, seq: 99, role: .owner), of: lost.bob.user, in: lost.list),
      try #require(lost.bob.proofs[lost.bob.user]), lost.bob.proof, String(repeating: "x", count: 5000),
    ]
    for forgery in forgeries {
      lost.bob.proofs[lost.list] = forgery
      lost.bob.wanted = [lost.list]
      #expect(try lost.bob.sync(complete: true).lost.isEmpty)
      #expect(try lost.members.isEmpty)
    }
    #expect(lost.server.inline?.api.database.history.earlier.count == 1)
  }

  @Test(
    "an owner who was demoted later has no more of it than the copy of the later moment says (I10)",
    arguments: [true, false])
  func demoted(comesFirst: Bool) throws {
    let lost = try Lost(.owner) { anna, _, membership in
      try anna.sync([.update("members", membership, ["role": "viewer"])])
    }
    func bobComes() throws {
      _ = try lost.comeBack(lost.bob)
      #expect(try lost.owners.contains(lost.bob.user) == comesFirst)
    }
    if comesFirst { try bobComes() }
    let squatted = comesFirst ? try lost.bob.share(lost.list, with: "anna", as: .viewer) : nil
    _ = try lost.comeBack(lost.anna)
    #expect(try lost.owners.contains(lost.anna.user))
    if !comesFirst { try bobComes() }
    if let squatted {
      // Whoever is behind can't lock out who is ahead.
      try lost.bob.pull()
      #expect(try lost.bob.refused(.delete("members", squatted, rev: 3)).code == .lastOwner)
      #expect(
        try lost.bob.refused(.update("members", squatted, ["role": "viewer"], rev: 3)).code == .lastOwner)
    }
    let items = [
      root(lost.list, "Lost"), member(lost.membership, lost.bob, lost.list, .viewer, rev: 2),
    ]
    #expect(try returned(lost.anna, items).isEmpty)
    #expect(try lost.owners == [lost.anna.user])
    for device in [lost.anna, lost.bob] { try device.pull() }
    #expect(try lost.bob.refused(.update("lists", lost.list, ["title": "Mine"])).code == .roleInsufficient)
    #expect(try lost.server.findings().isEmpty)
  }

  @Test("who makes a zone of the lost name by an ordinary create gives way to its proven owner (I10)")
  func squatted() throws {
    let lost = try Lost(.viewer)
    try lost.bob.sync(complete: true)
    try lost.bob.sync([.create("lists", lost.list, ["title": "Mine"])])
    #expect(try lost.owners == [lost.bob.user])
    _ = try lost.comeBack(lost.anna)
    #expect(try lost.owners == [lost.anna.user])
    try lost.bob.pull()
    #expect(!lost.bob.has("lists", lost.list))
    #expect(try lost.server.findings().isEmpty)
  }

  @Test(
    "without proof a zone waits for the operator, who grants or refuses it (I3, I10)",
    arguments: [true, false])
  func operatorDecides(isGranted: Bool) throws {
    let lost = try Lost(.editor)
    lost.anna.proofs = [:]
    _ = try lost.comeBack(lost.anna)
    #expect(try lost.members.isEmpty)
    let administration = try Administration(lost.server.location, environment: lost.server.world.environment)
    let claims = try administration.recoveryClaims().rows
    #expect(claims.map { Array($0[0...5]) } == [[lost.list, "anna", "owner", "no", lost.anna.id, "3"]])
    #expect(throws: ServerError.self) { try administration.grantRecovery(of: lost.list, toUser: "bob") }
    if isGranted {
      try administration.grantRecovery(of: lost.list, toUser: "anna")
      #expect(throws: ServerError.self) { try administration.refuseRecovery(of: lost.list, toUser: "anna") }
      let error = #expect(throws: ServerError.self) {
        try administration.grantRecovery(of: lost.list, toUser: "anna")
      }
      #expect(error?.description.contains("is a member of it") == true)
      let answer = try lost.anna.sync()
      #expect(answer.awaitingRecovery.isEmpty && answer.parts.contains { $0.isReset && $0.isRestored })
      #expect(try lost.owners == [lost.anna.user])
    } else {
      try administration.refuseRecovery(of: lost.list, toUser: "anna")
      #expect(try lost.anna.sync().awaitingRecovery.first?.until == 0)
      lost.anna.wanted = [lost.list]
      #expect(try lost.anna.sync().awaitingRecovery.first?.until == 0)
    }
    #expect(try lost.server.findings().isEmpty)
  }

  @Test("of claims that nothing proves a user has 1,000, and a proof is taken all the same (I10)")
  func invented() throws {
    let lost = try Lost(.viewer)
    let proof = lost.bob.proofs[lost.list]
    lost.bob.proofs[lost.list] = ""
    _ = try lost.comeBack(lost.bob)
    let administration = try Administration(lost.server.location)
    for _ in 0..<2 {
      lost.bob.wanted = (0..<600).map { _ in lost.bob.newID() }
      try lost.bob.sync()
    }
    #expect(try administration.recoveryClaims().rows.count == ZoneClaim.unprovenLimit)
    lost.bob.proofs[lost.list] = proof
    lost.bob.wanted = [lost.list]
    try lost.bob.sync()
    #expect(try administration.recoveryClaims().rows.count { $0[3] == "yes" } == 1)
  }

  @Test("claims are taken for 30 days, and of no zone whose name is no UUID or that is public (I10)")
  func limits() throws {
    let lost = try Lost(.viewer)
    let prover = try #require(lost.server.inline).service.work.store.prover
    let epoch = String(try #require(lost.anna.proofs[lost.list]).prefix(8))
    for zone in ["catalogue", "later-catalogue"] {
      lost.bob.proofs[zone] = prover.proof(
        of: .init(epoch: epoch, seq: 9, role: .owner), of: lost.bob.user, in: zone)
      lost.bob.wanted = [zone]
      try lost.bob.sync(complete: true)
      try lost.bob.pull()
    }
    #expect(try Administration(lost.server.location).recoveryClaims().rows.allSatisfy { $0[0] == lost.list })
    lost.server.world.advance(30 * 86_400_000)
    let answer = try lost.comeBack(lost.anna)
    #expect(try #require(answer.awaitingRecovery.first?.until) < lost.server.world.now)
    #expect(answer.wanted.isEmpty)
    lost.anna.wanted = [lost.list]
    try lost.anna.sync()
    #expect(try lost.members.isEmpty)
  }

  @Test(
    "an editor whom the lost history promoted recovers as what is proved, and others as what they are (I10)"
  )
  func promoted() throws {
    let before = try TestServer()
    let (anna, bob) = (try before.signUp("anna"), try before.signUp("bob"))
    let list = try anna.makeList()
    let membership = try anna.share(list, with: "bob", as: .viewer)
    for device in [anna, bob] { try device.pull() }
    let backup = try before.backUp()
    try anna.sync([.update("members", membership, ["role": "editor"])])
    try bob.pull()
    let item = try bob.makeItem(list)
    try bob.pull()
    let server = try before.restored(backup)
    bob.server = server
    let lost: JSONValue = [
      "table": "items", "id": .string(item), "zone": .string(list), "rev": 1,
      "columns": ["list_id": .string(list), "title": "Milk"],
    ]
    let proof = bob.proofs[list]
    bob.proofs[list] = ""
    try bob.sync(complete: true)
    try bob.pull()
    #expect(try returned(bob, [lost]) == [.roleInsufficient])
    bob.proofs[list] = proof
    bob.wanted = [list]
    try bob.sync()
    #expect(try returned(bob, [lost]).isEmpty)
    #expect(try server.findings().isEmpty)
  }

  // MARK: Two histories in one epoch

  @Test("a zone's proof of a later moment than the database has begins an epoch, and recovery (I2, I7)")
  func zoneAhead() throws {
    let server = try TestServer()
    let anna = try server.signUp("anna")
    let other = try server.signIn("anna")
    let list = try anna.makeList()
    try other.pull()
    let item = try anna.makeItem(list)
    for device in [anna, other] { try device.pull() }
    let before = try #require(server.inline).api.database.history
    try server.goBack(behind: [item], in: list)
    // It reads alone: its own number says nothing.
    let answer = try other.sync(complete: true)
    #expect(answer.parts.isEmpty && answer.wanted == [list] && answer.lost.isEmpty)
    #expect(try other.sync().mustResend)
    let after = try #require(server.inline).api.database.history
    #expect(after.previous == before.epoch)
    #expect(after.reason == NewEpoch.Reason.deviceAhead.rawValue)
    let begun = try other.sync(complete: true)
    #expect(begun.parts.contains { $0.zone == list && $0.isReset && $0.isRestored })
    try other.pull()
    let lost: JSONValue = [
      "table": "items", "id": .string(item), "zone": .string(list), "rev": 1,
      "columns": ["list_id": .string(list), "title": "Milk"],
    ]
    #expect(try returned(other, [lost]).isEmpty)
    // The proof of before begins no other.
    anna.wanted = [list]
    try anna.sync()
    #expect(try #require(server.inline).api.database.history == after)
    #expect(try server.findings().isEmpty)
  }

  @Test(
    "a device's proof of a later number, or of another chain at the same, begins an epoch (I2)",
    arguments: [true, false])
  func deviceAhead(isOther: Bool) throws {
    let server = try TestServer()
    let anna = try server.signUp("anna")
    _ = try anna.makeList()
    try anna.pull()
    let before = try #require(server.inline).api.database.epoch
    let setting = isOther ? "chain = chain + 1" : "confirmed = confirmed - 1"
    try server.change(
      sqlite: "UPDATE holdfast_devices SET \(setting)", postgres: "UPDATE holdfast.devices SET \(setting)")
    let proof = anna.proof
    anna.proof = isOther ? "" : "\(before).99.0000000000000000.\(proof.split(separator: ".")[3])"
    _ = try server.respond(to: anna.request([]))
    #expect(try #require(server.inline).api.database.epoch == before)
    anna.proof = proof
    _ = try server.respond(to: anna.request([]))
    #expect(try #require(server.inline).api.database.history.previous == before)
  }
}
