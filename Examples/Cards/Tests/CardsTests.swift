import CardsModel
import HoldfastTesting
import Testing

extension TestDevice {
  /// The flash cards of this device.
  var cards: Cards { Cards(store: store, engine: engine) }
}

@Suite("Flash cards")
struct CardsTests {
  @Test("two devices edit a set offline, and both have all terms in one order (I7)")
  func offlineEdits() async throws {
    try await withTestWorld(schema: .cards()) { world in
      let phone = try await world.device(user: "ann")
      let tablet = try await world.device(user: "ann")
      let set = try await phone.cards.makeSet("Capitals", [("France", "Paris"), ("Peru", "Lima")])
      try await world.settle()
      world.network.isConnected = false
      try await phone.cards.add("Chad", "N'Djamena", to: set, at: .first)
      try await tablet.cards.add("Oman", "Muscat", to: set)
      let france = try #require(try await tablet.cards.terms(of: set).first)
      try await tablet.cards.move([france.id], to: .last)
      world.network.isConnected = true
      try await world.settle()
      for device in [phone, tablet] {
        #expect(try await device.cards.terms(of: set).map(\.term) == ["Chad", "Peru", "Oman", "France"])
      }
    }
  }

  @Test("a teacher's set reaches the class, also who joins later, and leaves it again (I10)")
  func sharing() async throws {
    try await withTestWorld(schema: .cards()) { world in
      let teacher = try await world.device(user: "ms.hill")
      let ann = try await world.device(user: "ann")
      let bob = try await world.device(user: "bob")
      let group = try await teacher.cards.makeClass("Geography")
      let set = try await teacher.cards.makeSet("Capitals", [("France", "Paris")])
      try await teacher.cards.share(set: set, with: group, canEdit: false)
      try await teacher.sync()
      let link = try await teacher.cards.invite(to: group)
      try await ann.cards.join(link)
      try await world.settle()
      #expect(try await ann.cards.sets().map(\.title) == ["Capitals"])
      #expect(try await ann.cards.classes().map(\.people) == [["ann", "ms.hill"]])
      #expect(try await ann.cards.classes().map(\.titles) == [["Capitals"]])
      #expect(try await bob.cards.sets() == [])
      try await bob.cards.join(link)
      try await world.settle()
      #expect(try await bob.cards.terms(of: set).map(\.definition) == ["Paris"])
      try await teacher.cards.unshare(set: set, from: group)
      try await world.settle()
      #expect(try await ann.cards.sets() == [])
      #expect(try await bob.cards.sets() == [])
      #expect(try await teacher.cards.sets().map(\.count) == [1])
    }
  }

  @Test("who may only read a set counts answers all the same, and nobody else sees them (I10)")
  func studying() async throws {
    try await withTestWorld(schema: .cards()) { world in
      let (teacher, group, set) = try await Self.classWithSet(in: world)
      let ann = try await world.device(user: "ann")
      let link = try await teacher.cards.invite(to: group)
      try await ann.cards.join(link)
      try await world.settle()
      let terms = try await ann.cards.termsToStudy(in: set)
      try await ann.cards.answer(terms[0].id, isKnown: true)
      try await ann.cards.answer(terms[1].id, isKnown: false)
      try await world.settle()
      #expect(try await ann.cards.progress(of: set).map(\.known) == [1, 0])
      #expect(try await ann.cards.progress(of: set).map(\.missed) == [0, 1])
      #expect(try await ann.cards.termsToStudy(in: set).map(\.term) == ["Peru", "France"])
      #expect(try await teacher.cards.progress(of: set).map(\.known) == [0, 0])
      let counts = try await teacher.store.read {
        try $0.fetch(Int.self, "SELECT count(*) FROM study_counts")
      }
      #expect(counts == [0])
    }
  }

  @Test("answers of two devices of one person that are offline all count (I1, I7)")
  func countedOnTwoDevices() async throws {
    try await withTestWorld(schema: .cards()) { world in
      let phone = try await world.device(user: "ann")
      let tablet = try await world.device(user: "ann")
      let set = try await phone.cards.makeSet("Capitals", [("France", "Paris")])
      try await world.settle()
      world.network.isConnected = false
      let term = try #require(try await tablet.cards.terms(of: set).first).id
      for _ in 0..<3 { try await phone.cards.answer(term, isKnown: true) }
      for _ in 0..<2 { try await tablet.cards.answer(term, isKnown: true) }
      try await tablet.cards.answer(term, isKnown: false)
      world.network.isConnected = true
      world.network.fail(.answerLost)
      try await world.settle()
      for device in [phone, tablet] {
        let progress = try await device.cards.progress(of: set)
        #expect(progress.map(\.known) == [5] && progress.map(\.missed) == [1])
      }
    }
  }

  @Test("two people define a term at the same time: the first stays until one of them chooses (I3)")
  func conflict() async throws {
    try await withTestWorld(schema: .cards()) { world in
      let (teacher, group, set) = try await Self.classWithSet(in: world, canEdit: true)
      let ann = try await world.device(user: "ann")
      try await ann.cards.join(try await teacher.cards.invite(to: group))
      try await world.settle()
      let term = try #require(try await ann.cards.terms(of: set).first).id
      try await teacher.cards.define(term, as: "Paris, on the Seine")
      try await ann.cards.define(term, as: "Paris (since 987)")
      try await world.settle()
      let open = try await ann.store.read { try $0.conflicts(onlyOpen: true) }
      let conflict = try #require(open.first)
      #expect(conflict.winner.value == "Paris, on the Seine" && conflict.loser.value == "Paris (since 987)")
      try await ann.store.write { try $0.resolve(conflict, taking: .loser) }
      try await world.settle()
      #expect(try await teacher.cards.terms(of: set)[0].definition == "Paris (since 987)")
    }
  }

  @Test("a folder is its owner's alone, also with a set of the class in it")
  func folders() async throws {
    try await withTestWorld(schema: .cards()) { world in
      let (teacher, group, set) = try await Self.classWithSet(in: world)
      let ann = try await world.device(user: "ann")
      let tablet = try await world.device(user: "ann")
      try await ann.cards.join(try await teacher.cards.invite(to: group))
      try await world.settle()
      let own = try await ann.cards.makeSet("My words", [])
      try await ann.cards.file([set, own], under: "Tests")
      try await world.settle()
      #expect(try await tablet.cards.folders().map(\.titles) == [["Capitals", "My words"]])
      #expect(try await teacher.cards.folders().isEmpty)
      try await teacher.cards.remove(set: set)
      try await world.settle()
      #expect(try await tablet.cards.folders().map(\.titles) == [["My words"]])
    }
  }

  @Test(
    "what a student writes into a set that may only be read is refused, and stays with the student (I3, I10)")
  func refused() async throws {
    try await withTestWorld(schema: .cards(), allowing: .quarantined) { world in
      let (teacher, group, set) = try await Self.classWithSet(in: world)
      let ann = try await world.device(user: "ann")
      try await ann.cards.join(try await teacher.cards.invite(to: group))
      try await world.settle()
      try await ann.cards.add("Narnia", "Cair Paravel", to: set)
      try await world.settle(allowing: .quarantined)
      #expect(try await teacher.cards.terms(of: set).count == 2)
      #expect(try await ann.cards.terms(of: set).count == 2)
      #expect(try await ann.store.quarantined().map(\.problem?.code) == [.roleInsufficient])
    }
  }

  /// A teacher with a class that has a set.
  private static func classWithSet(
    in world: TestWorld, canEdit: Bool = false
  ) async throws -> (teacher: TestDevice, group: String, set: String) {
    let teacher = try await world.device(user: "ms.hill")
    let group = try await teacher.cards.makeClass("Geography")
    let set = try await teacher.cards.makeSet("Capitals", [("France", "Paris"), ("Peru", "Lima")])
    try await teacher.cards.share(set: set, with: group, canEdit: canEdit)
    try await teacher.sync()
    return (teacher, group, set)
  }
}
