import Foundation
import HoldfastTesting
import Testing

@Suite("A world of a test")
struct WorldTests {
  @Test("two phones edit offline, and both have everything after the network is back (I7)")
  func twoPhones() async throws {
    try await withTestWorld(schema: Shopping.schema()) { world in
      let phone = try await world.device(user: "ann")
      let tablet = try await world.device(user: "ann")
      let list = try await phone.makeList("Party", ["Milk"])
      try await world.settle()
      world.network.isConnected = false
      try await phone.add("Bread", to: list)
      try await tablet.rename(list, to: "Garden party")
      world.network.isConnected = true
      try await world.settle()
      for device in [phone, tablet] {
        #expect(try await device.lists() == ["Garden party"])
        #expect(try await device.items() == ["Milk", "Bread"])
      }
    }
  }

  @Test("the same test makes the same records each time, another seed others")
  func repeated() async throws {
    func ids(seed: UInt64) async throws -> [String] {
      let world = try TestWorld(schema: Shopping.schema(), seed: seed)
      let phone = try await world.device(user: "ann")
      let other = try await world.device(user: "bob")
      return [try await phone.makeList("Party", ["Milk"]), try await other.makeList("Home")]
    }
    #expect(try await ids(seed: 1) == ids(seed: 1))
    #expect(try await ids(seed: 1) != ids(seed: 2))
  }

  @Test("an edit that is left unsent fails the test, unless the test allows it")
  func leftUnsent() async throws {
    let error = await #expect(throws: UnsettledWorld.self) {
      try await withTestWorld(schema: Shopping.schema()) { world in
        let phone = try await world.device(user: "ann", name: "phone")
        world.network.isConnected = false
        _ = try await phone.makeList("Party")
      }
    }
    #expect(
      error?.description
        == "phone of ann: 1 operation is not sent. The network is cut, or the server is stopped.")
    try await withTestWorld(schema: Shopping.schema(), allowing: .unsent) { world in
      let phone = try await world.device(user: "ann")
      phone.isConnected = false
      _ = try await phone.makeList("Party")
      try await world.settle()
    }
  }

  @Test("a device that is cut off alone gets nothing until it is back")
  func oneCutOff() async throws {
    try await withTestWorld(schema: Shopping.schema()) { world in
      let phone = try await world.device(user: "ann")
      let tablet = try await world.device(user: "ann")
      tablet.isConnected = false
      _ = try await phone.makeList("Party")
      try await world.settle()
      #expect(try await tablet.lists() == [])
      await #expect(throws: StoreError.self) { try await tablet.sync() }
      tablet.isConnected = true
      try await world.settle()
      #expect(try await tablet.lists() == ["Party"])
    }
  }

  @Test("an engine that runs by itself syncs when the clock is moved on")
  func runningEngine() async throws {
    try await withTestWorld(schema: Shopping.schema()) { world in
      let phone = try await world.device(user: "ann")
      let tablet = try await world.device(user: "ann")
      let engine = tablet.engine
      let running = Task { await engine.run() }
      _ = try await phone.makeList("Party")
      try await phone.sync()
      var titles = tablet.store.live(List.self, "SELECT * FROM lists").makeAsyncIterator()
      // The engine may set its timer only after a move, so the clock goes on until the list is there.
      let moving = Task {
        while !Task.isCancelled {
          world.clock.advance(by: .seconds(1))
          await Task.yield()
        }
      }
      while try await titles.next()?.isEmpty ?? false {}
      moving.cancel()
      await moving.value
      #expect(try await tablet.lists() == ["Party"])
      running.cancel()
      await running.value
    }
  }

  @Test("an app that is ended and started again goes on with its unsent edits (I2)")
  func relaunched() async throws {
    try await withTestWorld(schema: Shopping.schema()) { world in
      let phone = try await world.device(user: "ann")
      let tablet = try await world.device(user: "ann")
      phone.isConnected = false
      let list = try await phone.makeList("Party")
      try await phone.relaunch()
      try await phone.add("Milk", to: list)
      phone.isConnected = true
      try await world.settle()
      #expect(try await tablet.items() == ["Milk"])
    }
  }

  @Test("an app of an older schema goes on beside an updated one, and gets the new column when it is updated")
  func updated() async throws {
    try await withTestWorld(schema: Shopping.schema()) { world in
      let phone = try await world.device(user: "ann")
      let tablet = try await world.device(user: "ann")
      let list = try await phone.makeList("Party", ["Milk"])
      try await world.settle()
      let newer = try Shopping.schema([ColumnSchema("amount", .integer, required: true, default: .integer(1))]
      )
      try world.server.restart(schema: newer)
      try await phone.relaunch(schema: newer)
      try await phone.store.write { try $0.execute("UPDATE items SET amount = 3") }
      try await tablet.add("Bread", to: list)
      try await world.settle()
      try await tablet.relaunch(schema: newer)
      try await world.settle()
      for device in [phone, tablet] {
        let amounts = try await device.store.read {
          try $0.fetch(Int.self, "SELECT amount FROM items ORDER BY position, id")
        }
        #expect(amounts == [3, 1])
      }
    }
  }
}
