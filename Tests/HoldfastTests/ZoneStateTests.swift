import Testing

@testable import Holdfast

/// The states of a zone on the device. The transitions are pure: no database is needed to run each of them from each state.
@Suite struct ZoneStateTests {
  private static let positions = ["0000000a.1", "0000000a.2", "0000000b.1"]

  /// Each transition that the client makes, with each of its arguments.
  private static var transitions: [(name: String, run: (inout ZoneState) -> Void)] {
    [
      ("follow", { $0.follow() }), ("leave", { $0 = .left }), ("fill", { $0.fill() }),
      ("compare", { $0.compare() }), ("verify", { _ = $0.verify() }), ("goOnFilling", { $0.goOnFilling() }),
      ("dropPages", { _ = $0.dropPages(hasLost: false) }),
      ("dropPages, lost", { _ = $0.dropPages(hasLost: true) }),
      ("removeMissing", { _ = $0.removeMissing() }), ("mend", { $0.mend() }), ("claim", { $0.claim() }),
      ("replace", { $0.resync(.replaced) }), ("recover", { $0.resync(.recovered) }),
      ("beWhole", { if $0.ack?.isEmpty == false { $0.becomeWhole() } }),
    ]
      + positions.flatMap { position in
        [
          ("sent \(position)", { $0.noteSent(position) }),
          // A part goes forward, and only to a zone that is followed.
          (
            "receive \(position)",
            { if $0.isFollowed, $0.token != position { $0.receive(upTo: position, as: "editor") } }
          ),
          ("snapshot \(position)", { if $0.ack == "" { $0.becomeWhole(bySnapshot: position) } }),
        ]
      }
  }

  /// All states that any sequence of transitions reaches from a new zone.
  private static func reachable() -> [(state: ZoneState, by: String)] {
    var found = [(state: ZoneState(), by: "")]
    var next = 0
    while next < found.count {
      for transition in transitions {
        var state = found[next].state
        transition.run(&state)
        if !found.contains(where: { $0.state == state }) {
          found.append((state, found[next].by + " → " + transition.name))
        }
      }
      next += 1
    }
    return found
  }

  @Test("I7: no sequence of transitions leads to a state that mending would have to repair")
  func everyReachableStateIsPossible() {
    let states = Self.reachable()
    #expect(states.count > 100)
    for (state, path) in states { #expect(state.isPossible, "\(state) by\(path)") }
  }

  @Test("I8: a resync that can't rely on the records here ends only with a whole copy, or with leaving")
  func replacementsEndWhole() {
    for (before, path) in Self.reachable() where before.resync.replacesAll {
      for transition in Self.transitions {
        var after = before
        transition.run(&after)
        if after.resync.replacesAll { continue }
        let isWhole = after.isFollowed && after.ack == after.token && !after.token.isEmpty
        #expect(isWhole || after == .left, "\(transition.name) after\(path)")
      }
    }
  }

  @Test("I2: a zone of which the server has lost records is recovered, whatever else happens to it")
  func recoveryIsNotForgotten() {
    for (before, path) in Self.reachable() where before.resync == .recovered {
      for transition in Self.transitions {
        var after = before
        transition.run(&after)
        let isWhole = after.resync == .none && after.isFollowed
        #expect(after.resync == .recovered || isWhole || after == .left, "\(transition.name) after\(path)")
      }
    }
  }

  @Test("I4: an ack that changes is unsent, and only the same ack makes it sent")
  func acksAreSentByName() {
    for (before, path) in Self.reachable() {
      for transition in Self.transitions {
        var after = before
        transition.run(&after)
        if after.ack != before.ack { #expect(!after.isSent, "\(transition.name) after\(path)") }
        if after.isSent, !before.isSent {
          #expect(transition.name == "sent \(after.ack ?? "")", "\(transition.name) after\(path)")
        }
      }
    }
  }

  @Test(
    "I12: a zone that is filled is verified by the server before it goes on, and keeps its last whole position"
  )
  func fillingIsVerified() {
    var state = ZoneState()
    state.receive(upTo: Self.positions[0], as: "owner")
    state.becomeWhole()
    state.fill()
    #expect(state.ack == "" && state.token == Self.positions[0] && state.resync == .filled)
    state.receive(upTo: Self.positions[1], as: "owner")
    let isUnderWay = state.dropPages(hasLost: false)
    #expect(isUnderWay && state.ack == Self.positions[0] && state.resync == .verified)
    state.goOnFilling()
    #expect(state.resync == .verified)
    state.noteSent(Self.positions[0])
    state.goOnFilling()
    #expect(state.ack == "" && state.resync == .filled)
  }

  @Test("I7: values that no transition leads to are mended into a zone that comes from its beginning")
  func impossibleStatesAreMended() throws {
    for (ack, token, resync, reason) in [
      ("?", "", "", ResyncReason.replaced), ("", "?", "replaced", .replaced),
      ("", Self.positions[0], "", .filled), (Self.positions[0], Self.positions[0], "replaced", .replaced),
      (Self.positions[0], Self.positions[0], "filled", .filled),
    ] {
      var state = try #require(
        ZoneState(role: "", token: token, ack: ack, isSent: true, resync: resync, proof: "", claimedRole: ""))
      #expect(!state.isPossible, "\(state)")
      state.mend()
      #expect(state.isPossible && state.ack == "" && !state.isSent && state.resync == reason, "\(state)")
    }
    #expect(
      ZoneState(role: "", token: "", ack: "", isSent: false, resync: "3", proof: "", claimedRole: "") == nil)
  }
}
