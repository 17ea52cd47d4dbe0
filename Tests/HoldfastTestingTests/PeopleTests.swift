import HoldfastTesting
import Testing

@Suite("Several people, and a server with a past")
struct PeopleTests {
  @Test("a list is shared, edited by both, and leaves the guest's device with the membership (I10)")
  func sharing() async throws {
    try await withTestWorld(schema: Shopping.schema()) { world in
      let ann = try await world.device(user: "ann")
      let bob = try await world.device(user: "bob")
      let list = try await ann.makeList("Party", ["Milk"])
      try await world.share(list, from: ann, with: bob, as: .editor)
      try await world.settle()
      try await bob.add("Bread", to: list)
      try await world.settle()
      #expect(try await ann.items() == ["Milk", "Bread"])
      try await ann.store.write { try $0.execute("DELETE FROM members WHERE name = 'bob'") }
      try await world.settle()
      #expect(try await bob.lists() == [])
    }
  }

  @Test("what a viewer writes is refused (I10)")
  func viewer() async throws {
    try await withTestWorld(schema: Shopping.schema(), allowing: .quarantined) { world in
      let ann = try await world.device(user: "ann")
      let bob = try await world.device(user: "bob")
      let list = try await ann.makeList("Party")
      try await world.share(list, from: ann, with: bob, as: .viewer)
      try await world.settle()
      try await bob.add("Bread", to: list)
      try await world.settle(allowing: .quarantined)
      #expect(try await ann.items() == [])
      #expect(try await bob.store.quarantined().map(\.problem?.code) == [.roleInsufficient])
    }
  }

  @Test("members by name wait for the user's word, and a block keeps them from it (I10)")
  func pendingMembership() async throws {
    try await withTestWorld(schema: Shopping.schema()) { world in
      let ann = try await world.device(user: "ann")
      let bob = try await world.device(user: "bob")
      let found = try #require(await ann.engine.user(named: "bob")).user
      let list = try await ann.makeList("Party")
      try await ann.store.write { db in
        try db.execute(
          "INSERT INTO members (id, zone, \"user\", role) VALUES (?, ?, ?, 'viewer')",
          [.text(db.newID()), .text(list), .text(found.id)])
      }
      try await world.settle()
      let pending = try await bob.engine.pendingMemberships()
      #expect(pending.map(\.title) == ["Party"])
      #expect(try await bob.lists() == [])
      let inviter = try #require(pending.first).inviter
      #expect(inviter.name == "ann")
      _ = try await bob.engine.accept(membership: try #require(pending.first).id)
      try await world.settle()
      #expect(try await bob.lists() == ["Party"])
      try await bob.engine.leave(zone: list)
      try await bob.engine.block(user: inviter.id)
      #expect(try await bob.engine.blockedUsers().map(\.name) == ["ann"])
      try await world.settle()
      #expect(try await bob.lists() == [])
    }
  }

  @Test("a device that was away for longer than the server remembers resyncs, and keeps its edits (I3, I8)")
  func fenced() async throws {
    try await withTestWorld(schema: Shopping.schema()) { world in
      let phone = try await world.device(user: "ann")
      let tablet = try await world.device(user: "ann")
      let list = try await phone.makeList("Party", ["Milk", "Bread"])
      try await world.settle()
      tablet.isConnected = false
      try await tablet.add("Wine", to: list)
      try await phone.store.write { try $0.execute("DELETE FROM items WHERE title = 'Milk'") }
      try await phone.sync()
      world.clock.advance(by: .seconds(100 * 86_400))
      try await phone.sync()
      try world.server.purge()
      tablet.isConnected = true
      try await world.settle()
      #expect(try await tablet.items() == ["Bread", "Wine"])
      #expect(try await phone.items() == ["Bread", "Wine"])
    }
  }

  @Test("after a restore the devices upload what the backup is missing (I2, I3)")
  func restored() async throws {
    try await withTestWorld(schema: Shopping.schema()) { world in
      let phone = try await world.device(user: "ann")
      let tablet = try await world.device(user: "ann")
      let list = try await phone.makeList("Party", ["Milk"])
      try await world.settle()
      let backup = try world.server.backup()
      try await phone.add("Bread", to: list)
      try await world.settle()
      try world.server.restore(backup)
      try await tablet.add("Wine", to: list)
      try await world.settle()
      let third = try await world.device(user: "ann")
      try await world.settle()
      for device in [phone, tablet, third] {
        #expect(try await device.items().sorted() == ["Bread", "Milk", "Wine"])
      }
    }
  }

  @Test("a wrong password and a name that is taken are told, as by the real server")
  func wrongPassword() async throws {
    try await withTestWorld(schema: Shopping.schema()) { world in
      let phone = try await world.device(user: "ann")
      try await phone.engine.signOut()
      let wrong = await #expect(throws: Problem.self) {
        try await phone.engine.signIn(name: "ann", password: "guessed it", device: "phone")
      }
      #expect(wrong?.code == .credentialsWrong)
      // A file with a user's data signs up nobody.
      try await phone.engine.signOut(removingData: true)
      let taken = await #expect(throws: Problem.self) {
        try await phone.engine.signUp(name: "ann", password: "correct horse", device: "phone")
      }
      #expect(taken?.code == .nameTaken)
      try await phone.engine.signIn(
        name: "ann", password: TestWorld.password(of: "ann"), device: "phone")
      _ = try await phone.makeList("Party")
      try await world.settle()
    }
  }

  @Test("a user who is erased is gone from every device (I10)")
  func erased() async throws {
    try await withTestWorld(schema: Shopping.schema()) { world in
      let ann = try await world.device(user: "ann")
      let bob = try await world.device(user: "bob")
      let list = try await ann.makeList("Party")
      try await world.share(list, from: ann, with: bob, as: .editor)
      try await world.settle()
      try await bob.engine.eraseAccount(password: TestWorld.password(of: "bob"))
      try world.server.purge()
      try await world.settle()
      let names = try await ann.store.read {
        try $0.fetch(String?.self, "SELECT name FROM members WHERE zone = ?", [.text(list)])
      }
      #expect(names == ["ann"])
    }
  }
}
