import Foundation
import HoldfastCore
import Synchronization
import Testing

@testable import Holdfast

@Suite("The sync engine at work")
struct SyncEngineTests {
  /// A server of one function.
  private final class Answering: Transport {
    private let answers: Mutex<Int> = Mutex(0)
    private let answer: @Sendable (Int, TransportRequest) async throws -> TransportAnswer

    init(_ answer: @escaping @Sendable (Int, TransportRequest) async throws -> TransportAnswer) {
      self.answer = answer
    }
    var count: Int { answers.withLock { $0 } }
    func send(_ request: TransportRequest) async throws -> TransportAnswer {
      let number = answers.withLock { number in
        number += 1
        return number
      }
      return try await answer(number, request)
    }
  }

  private static let nothing = TransportAnswer(
    status: 200,
    body: Fixture.whole(#"{"clock":"0193aaaa00000000","confirmed":0,"chain":"0000000000000000"}"#))

  @Test("a 401 for a token that a sign-in has replaced meanwhile signs nobody out (I3)")
  func replacedToken() async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    let transport = Answering { number, _ in
      if number > 1 { return Self.nothing }
      try await fixture.signIn(token: "new")
      return TransportAnswer(status: 401, body: Problem(.tokenInvalid).document)
    }
    try await SyncEngine(store: fixture.store, transport: transport).sync()
    #expect(transport.count == 2)
  }

  @Test("a copy that another process has already given an identity takes no second one (I1)")
  func replacedIdentity() async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    let transport = Answering { number, request in
      #expect(request.path == "v1/sync")
      if number > 1 { return Self.nothing }
      try await fixture.signIn(device: "0193aaaa-0000-7000-8000-00000000000e", token: "new")
      return TransportAnswer(status: 409, body: Problem(.deviceDiverged).document)
    }
    try await SyncEngine(store: fixture.store, transport: transport).sync()
    #expect(transport.count == 2)
  }

  @Test("an engine that knows of no session finds the one that another process began (I7)")
  func signedInElsewhere() async throws {
    let fixture = try Fixture()
    let engine = SyncEngine(store: fixture.store, transport: Answering { _, _ in Self.nothing })
    await #expect(throws: StoreError.self) { try await engine.sync() }
    try await fixture.signIn()
    try await engine.sync()
  }

  @Test("an expired session is asked for once by each sync, and every caller is told (I3)")
  func expired() async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    try await fixture.store.write { try $0.insert(List(id: IDs.list, title: "Home")) }
    let transport = Answering { _, _ in TransportAnswer(status: 401, body: Problem(.tokenInvalid).document) }
    let engine = SyncEngine(store: fixture.store, transport: transport)
    for _ in 0..<3 {
      let error = await #expect(throws: StoreError.self) { try await engine.sync() }
      #expect(error?.code == .signedOut)
    }
    #expect(try await fixture.store.waitingOperations() == 1)
    #expect(try await fixture.store.quarantined().isEmpty)
  }

  @Test("a sync says how many zones are resynced later (I12)")
  func waitingZones() async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    try await fixture.answer(IDs.part("\(IDs.listChange),\(IDs.itemChange("Milk"))"))
    _ = try await fixture.store.writer.perform { try ResetPacing(database: $0).mayReset(IDs.list) }
    let answer = TransportAnswer(
      status: 200,
      body: Fixture.whole(
        #"{"clock":"0193aaaa00000000","confirmed":0,"chain":"0000000000000000","zones":[{"zone":"\#(IDs.list)","reset":true}]}"#
      ))
    let engine = SyncEngine(store: fixture.store, transport: Answering { _, _ in answer }, network: nil)
    #expect(try await engine.sync().waitingZones == 1)
    for await status in engine.statuses {
      #expect(status.text == "Synced, but for 1 zone")
      break
    }
  }

  @Test("many callers of sync at once are all answered")
  func callers() async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    let engine = SyncEngine(store: fixture.store, transport: Answering { _, _ in Self.nothing })
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<50 { group.addTask { _ = try await engine.sync() } }
      try await group.waitForAll()
    }
  }

  @Test("an answer that can't be applied is not asked for again at once (I12)")
  func poison() async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    let body =
      #"{"clock":"0193aaaa00000000","confirmed":0,"chain":"0000000000000000","zones":[{"zone":"x","role":"owner","from":"","to":"0000000a.1","changes":[{"table":"lists","id":"x","rev":1}]}]}"#
    let transport = Answering { _, _ in TransportAnswer(status: 200, body: Fixture.whole(body)) }
    let engine = SyncEngine(store: fixture.store, transport: transport)
    let error = await #expect(throws: StoreError.self) { try await engine.sync() }
    #expect(error?.code == .offline)
    #expect(transport.count == 1)
  }

  @Test(
    "a set too large for the server goes to quarantine, and not one that stands in its place by then (I3, I12)"
  )
  func tooLarge() async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    // The first answer under the new identity.
    try await fixture.answer("\"resend\":false")
    try await fixture.store.write { try $0.insert(List(id: IDs.list, title: "Large")) }
    let transport = Answering { number, request in
      let body = String(decoding: request.body ?? [], as: UTF8.self)
      if !body.contains("change_sets") { return Self.nothing }
      if body.contains("Large") {
        if number == 5 {
          // Another process was told the same, and has done what is to be done.
          try await fixture.store.write { try $0.insert(List(id: IDs.other, title: "Small")) }
          let first = try await fixture.store.writer.perform {
            try RequestPreparation(database: $0).prepare(changeSetLimit: 1)
          }
          _ = try await fixture.store.writer.perform {
            try UnacceptableRequest(database: $0).quarantineOldest(
              of: try #require(first), problem: Problem(.bodyTooLarge).document)
          }
        }
        return TransportAnswer(status: 413, body: [])
      }
      return TransportAnswer(status: 400, body: [])
    }
    let engine = SyncEngine(store: fixture.store, transport: transport)
    await #expect(throws: StoreError.self) { try await engine.sync() }
    #expect(try await fixture.store.quarantined().count == 1)
    #expect(try await fixture.outbox().count == 1)
  }

  @Test(
    "of many sets the one for which the server calls requests malformed waits in quarantine, alone (I3, I12)")
  func malformed() async throws {
    let fixture = try Fixture()
    try await fixture.signIn()
    try await fixture.answer("\"resend\":false")
    let ids = (0..<20).map { Identifier.make(milliseconds: 1, random: (UInt64($0), 1)) }
    for (number, id) in ids.enumerated() {
      try await fixture.store.write { try $0.insert(List(id: id, title: number == 7 ? "Poison" : "List")) }
    }
    let taken = Mutex<TextSet>([])
    let transport = Answering { _, request in
      let text = request.body ?? []
      if String(decoding: text, as: UTF8.self).contains("Poison") {
        return TransportAnswer(status: 400, body: Problem(.malformedJSON, "At 7").document)
      }
      let body = try JSONValue(parsing: text)
      let sets = body["change_sets"]?.elements ?? []
      taken.withLock { $0.formUnion(sets.compactMap { $0.elements?.first?["id"]?.stringValue }) }
      let state = try await fixture.store.writer.perform { local in
        let last = (body["first"]?.integerValue ?? 1) - 1 + Int64(sets.count)
        let row = try local.connection.value(
          "SELECT chain FROM holdfast_outbox WHERE last = ?", [.integer(last)])
        let known = try local.state()
        return (sets.isEmpty ? known.confirmed : last, row?.text ?? known.confirmedChain.text)
      }
      return TransportAnswer(
        status: 200,
        body: Fixture.whole(#"{"clock":"0193aaaa00000000","confirmed":\#(state.0),"chain":"\#(state.1)"}"#))
    }
    _ = try await SyncEngine(store: fixture.store, transport: transport).sync()
    let quarantined = try await fixture.store.quarantined()
    #expect(quarantined.map { $0.operations.map(\.id) } == [[ids[7]]])
    #expect(quarantined.first?.problem?.code == .malformedJSON)
    #expect(taken.withLock { $0 } == TextSet(ids).subtracting([ids[7]]))
    #expect(try await fixture.outbox().isEmpty)
    #expect(try await fixture.value("SELECT count(*) FROM lists") == .integer(19))
  }
}
