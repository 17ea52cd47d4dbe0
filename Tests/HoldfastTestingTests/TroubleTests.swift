import HoldfastTesting
import Testing

@Suite("Faults, refusals and conflicts that a test provokes")
struct TroubleTests {
  @Test("a change set whose answer was lost is there once (I1)")
  func answerLost() async throws {
    try await withTestWorld(schema: Shopping.schema()) { world in
      let phone = try await world.device(user: "ann")
      let tablet = try await world.device(user: "ann")
      _ = try await phone.makeList("Party", ["Milk"])
      world.network.fail(.answerLost)
      await #expect(throws: StoreError.self) { try await phone.sync() }
      #expect(try await phone.store.waitingOperations() == 2)
      try await world.settle()
      #expect(try await tablet.lists() == ["Party"])
      #expect(try await tablet.items() == ["Milk"])
    }
  }

  @Test(
    "requests that are lost, and answers of a proxy, leave every edit waiting (I3)",
    arguments: [
      TestNetwork.Fault.requestLost, .status(503), .status(502),
    ])
  func requestsFail(_ fault: TestNetwork.Fault) async throws {
    try await withTestWorld(schema: Shopping.schema()) { world in
      let phone = try await world.device(user: "ann")
      _ = try await phone.makeList("Party")
      world.network.fail(fault, count: 2)
      await #expect(throws: StoreError.self) { try await phone.sync() }
      await #expect(throws: StoreError.self) { try await phone.sync() }
      #expect(try await phone.store.waitingOperations() == 1)
      try await world.settle()
      #expect(try await phone.store.waitingOperations() == 0)
    }
  }

  @Test("a stopped server keeps devices offline; started again, it has all that it confirmed (I2)")
  func stoppedServer() async throws {
    try await withTestWorld(schema: Shopping.schema()) { world in
      let phone = try await world.device(user: "ann")
      let list = try await phone.makeList("Party")
      try await world.settle()
      world.server.stop()
      #expect(!world.server.isRunning)
      try await phone.add("Milk", to: list)
      await #expect(throws: StoreError.self) { try await phone.sync() }
      try world.server.start()
      let tablet = try await world.device(user: "ann")
      try await world.settle()
      #expect(try await tablet.items() == ["Milk"])
    }
  }

  @Test(
    "a refused change set is in quarantine, fails the test, and goes through when it is sent again (I3, I12)")
  func refused() async throws {
    try await withTestWorld(schema: Shopping.schema()) { world in
      let phone = try await world.device(user: "ann", name: "phone")
      let tablet = try await world.device(user: "ann")
      let list = try await phone.makeList("Party")
      try await world.settle()
      world.server.refuse("items", because: "No more milk.") { $0["title"] == "Milk" }
      try await phone.add("Milk", to: list)
      try await phone.add("Bread", to: list)
      let error = await #expect(throws: UnsettledWorld.self) { try await world.settle() }
      #expect(
        error?.description.contains("phone of ann: the server refused a change set (create of items)") == true
      )
      #expect(error?.description.contains("No more milk.") == true)
      #expect(try await tablet.items() == ["Bread"])
      let refused = try await phone.store.quarantined()
      #expect(refused.map(\.problem?.code) == [.validationFailed])
      world.server.acceptAll()
      try await phone.store.resend(try #require(refused.first).number)
      try await world.settle()
      #expect(try await tablet.items().sorted() == ["Bread", "Milk"])
    }
  }

  @Test("a team's own rules hold, with those of the test beside them (I10)")
  func ownRules() async throws {
    var rules = Rules()
    rules.validate("items") { if $0["title"] == "" { throw ValidationError("An item has a title.") } }
    try await withTestWorld(schema: Shopping.schema(), rules: rules) { world in
      let phone = try await world.device(user: "ann")
      let list = try await phone.makeList("Party")
      try await phone.add("", to: list)
      world.server.refuse("items", because: "No more milk.") { $0["title"] == "Milk" }
      try await phone.add("Milk", to: list)
      try await world.settle(allowing: .quarantined)
      let refused = try await phone.store.quarantined()
      #expect(refused.map(\.problem?.detail) == ["An item has a title.", "No more milk."])
      for set in refused { try await phone.store.discard(set.number) }
    }
  }

  @Test("of two edits of a title the later one by the devices' clocks holds, whichever arrives first (I7)")
  func latest() async throws {
    try await withTestWorld(schema: Shopping.schema()) { world in
      let phone = try await world.device(user: "ann")
      let tablet = try await world.device(user: "ann")
      let list = try await phone.makeList("Party")
      try await world.settle()
      try await tablet.rename(list, to: "First")
      try await phone.rename(list, to: "Second")
      try await world.settle()
      #expect(try await tablet.lists() == ["Second"])
      tablet.clockOffset = .seconds(600)
      try await tablet.rename(list, to: "Third")
      world.clock.advance(by: .seconds(60))
      try await phone.rename(list, to: "Fourth")
      try await world.settle()
      #expect(try await phone.lists() == ["Third"])
      #expect(try await tablet.lists() == ["Third"])
    }
  }

  @Test("a conflict of a column that asks is there to be resolved")
  func conflict() async throws {
    try await withTestWorld(schema: Shopping.schema()) { world in
      let phone = try await world.device(user: "ann")
      let tablet = try await world.device(user: "ann")
      _ = try await phone.makeList("Party", ["Milk"])
      try await world.settle()
      for (device, note) in [(phone, "the blue one"), (tablet, "two litres")] {
        try await device.store.write { try $0.execute("UPDATE items SET note = ?", [.text(note)]) }
      }
      try await world.settle()
      let open = try await tablet.store.read { try $0.conflicts(onlyOpen: true) }
      let conflict = try #require(open.first)
      #expect(open.count == 1)
      try await tablet.store.write { try $0.resolve(conflict, taking: .loser) }
      try await world.settle()
      let notes = try await phone.store.read { try $0.fetch(String.self, "SELECT note FROM items") }
      #expect(notes == ["two litres"])
      #expect(try await phone.store.read { try $0.conflicts(onlyOpen: true) } == [])
    }
  }
}
