import Testing

@testable import Holdfast

@Suite("The sync engine's states")
struct SyncMachineTests {
  private func machine(signedIn: Bool = true, random: UInt64 = .max) -> SyncMachine {
    SyncMachine(isSignedIn: signedIn, random: { random })
  }

  private func syncing() -> SyncMachine {
    var machine = machine()
    _ = machine.handle(.launched)
    return machine
  }

  @Test("a launch sends; an answer with nothing left rests and sets the timer")
  func launch() {
    var machine = machine()
    #expect(machine.handle(.launched) == [.stopTimer, .send(changeSetLimit: SyncMachine.changeSetLimit)])
    #expect(machine.handle(.answered(hasMore: false)) == [.schedule(SyncMachine.period), .finish(nil)])
    #expect(machine.state == .idle)
  }

  @Test("a large new zone is downloaded a stretch after the other, and then the server is asked again (I7)")
  func snapshot() {
    var machine = syncing()
    #expect(machine.handle(.answered(hasMore: true, hasLargeZone: true)) == [.download])
    #expect(machine.handle(.downloaded(isLast: false)) == [.download])
    let send = SyncMachine.Action.send(changeSetLimit: SyncMachine.changeSetLimit)
    #expect(machine.handle(.downloaded(isLast: true)) == [.stopTimer, send])
    #expect(machine.state == .syncing)
  }

  @Test("what is edited while a snapshot comes is sent before its next stretch (I7)")
  func editedDuringSnapshot() {
    var machine = syncing()
    _ = machine.handle(.answered(hasMore: true, hasLargeZone: true))
    _ = machine.handle(.edited)
    let send = SyncMachine.Action.send(changeSetLimit: SyncMachine.changeSetLimit)
    #expect(machine.handle(.downloaded(isLast: false)) == [.stopTimer, send])
    #expect(machine.handle(.answered(hasMore: true, hasLargeZone: true)) == [.download])
    _ = machine.handle(.edited)
    _ = machine.handle(.failed(.later(reason: "", retryAfter: nil)))
    #expect(machine.state == .waiting)
    #expect(machine.handle(.downloaded(isLast: true)) == [])
  }

  @Test("an edit is debounced, and one during a sync makes it go on (I7)")
  func edits() {
    var machine = machine()
    #expect(machine.handle(.edited) == [.schedule(SyncMachine.debounce)])
    _ = machine.handle(.timer)
    #expect(machine.handle(.edited) == [])
    #expect(
      machine.handle(.answered(hasMore: false)).contains(.send(changeSetLimit: SyncMachine.changeSetLimit)))
  }

  @Test("edits that never pause are sent all the same (I7)")
  func unbrokenEdits() {
    var machine = machine()
    #expect(machine.handle(.edited) == [.schedule(SyncMachine.debounce)])
    // A second wait would take the place of the first.
    #expect(machine.handle(.edited) == [])
    _ = machine.handle(.timer)
    _ = machine.handle(.answered(hasMore: false))
    #expect(machine.handle(.edited) == [.schedule(SyncMachine.debounce)])
  }

  @Test("5xx, 429 or time-out is not a refusal: it waits, longer each time, at least Retry-After (I3)")
  func backOff() {
    var machine = syncing()
    var waits: [Duration] = []
    for _ in 0..<12 {
      let actions = machine.handle(.failed(.later(reason: "", retryAfter: nil)))
      for case .schedule(let wait) in actions { waits.append(wait) }
      #expect(machine.state == .waiting)
      _ = machine.handle(.timer)
    }
    #expect(waits.count == 12)
    #expect(waits.allSatisfy { $0 <= .milliseconds(SyncMachine.backOff.longest) })
    let actions = machine.handle(.failed(.later(reason: "", retryAfter: 400)))
    #expect(actions.first == .schedule(.seconds(400)))
    #expect(machine.handle(.edited) == [])
    // The server has said when; that the network is there says nothing else.
    #expect(machine.handle(.reachable) == [])
    _ = machine.handle(.timer)
    _ = machine.handle(.failed(.later(reason: "", retryAfter: nil)))
    #expect(machine.handle(.reachable).contains(.send(changeSetLimit: SyncMachine.changeSetLimit)))
  }

  @Test("401 is not a refusal: the engine stops and waits for a sign-in (I3)")
  func expired() {
    var machine = syncing()
    #expect(machine.handle(.failed(.expired)) == [.stopTimer, .finish(.expired)])
    #expect(machine.state == .signedOut)
    #expect(machine.handle(.timer) == [])
    #expect(machine.handle(.syncNow) == [.finish(.expired)])
    #expect(machine.handle(.signedIn) == [.schedule(.zero)])
    #expect(machine.handle(.timer).contains(.send(changeSetLimit: SyncMachine.changeSetLimit)))
  }

  @Test(
    "a network that is gone is asked for more often than a server that said to come later, and at once when it is back (I7)"
  )
  func backOffFollowsCause() {
    var gone = syncing()
    var put = syncing()
    var longest = (gone: Duration.zero, put: Duration.zero)
    for _ in 0..<12 {
      for case .schedule(let wait) in gone.handle(.failed(.unreachable(reason: ""))) { longest.gone = wait }
      for case .schedule(let wait) in put.handle(.failed(.later(reason: "", retryAfter: nil))) {
        longest.put = wait
      }
      _ = (gone.handle(.timer), put.handle(.timer))
    }
    #expect(longest.gone <= .milliseconds(SyncMachine.longestOffline))
    #expect(longest.put > .milliseconds(SyncMachine.longestOffline))
    let send = SyncMachine.Action.send(changeSetLimit: SyncMachine.changeSetLimit)
    _ = gone.handle(.failed(.unreachable(reason: "")))
    #expect(gone.handle(.reachable).contains(send))
    // It begins with short waits again: the network may be there before its servers are.
    #expect(
      gone.handle(.failed(.unreachable(reason: ""))).contains { action in
        if case .schedule(let wait) = action {
          wait <= .milliseconds(SyncMachine.backOff.first)
        } else {
          false
        }
      })
    _ = put.handle(.failed(.later(reason: "", retryAfter: 60)))
    #expect(put.handle(.reachable) == [])
    #expect(put.state == .waiting)
    #expect(put.handle(.syncNow).contains(send))
  }

  private func refusal(_ items: Int, isTooLarge: Bool = false) -> SyncMachine.Event {
    .failed(.unacceptable(items: items, isTooLarge: isTooLarge, reason: "no"))
  }

  @Test(
    "a request that can't be taken sends less; a single set goes to quarantine when a request without it is taken (I12)",
    arguments: [true, false])
  func unacceptable(isTooLarge: Bool) {
    var machine = syncing()
    var (sizes, items) = ([Int](), SyncMachine.changeSetLimit)
    while items > 1 {
      for case .send(let limit) in machine.handle(refusal(items, isTooLarge: isTooLarge)) { items = limit }
      sizes.append(items)
    }
    #expect(sizes.last == 1 && sizes == sizes.sorted(by: >))
    for _ in 0..<FaultSearch.proofs {
      #expect(machine.handle(refusal(1, isTooLarge: isTooLarge)) == [.send(changeSetLimit: 0)])
      #expect(machine.handle(.answered(hasMore: true)) == [.send(changeSetLimit: 1)])
    }
    #expect(
      machine.handle(refusal(1, isTooLarge: isTooLarge))
        == [.quarantineOldest, .send(changeSetLimit: SyncMachine.changeSetLimit)])
  }

  @Test("a server that refuses every request, or all with change sets, does not empty the outbox (I3, I12)")
  func refusingServer() {
    var machine = syncing()
    for _ in 0..<100 {
      _ = machine.handle(refusal(1))
      // The one without change sets.
      #expect(!machine.handle(refusal(0)).contains(.quarantineOldest))
      #expect(machine.state == .waiting)
      _ = machine.handle(.timer)
    }
    var (quarantined, waits) = (0, 0)
    for _ in 0..<300 {
      var actions = machine.handle(refusal(1))
      if actions == [.send(changeSetLimit: 0)] { actions = machine.handle(.answered(hasMore: true)) }
      if actions.first == .quarantineOldest { quarantined += 1 }
      if machine.state == .waiting {
        waits += 1
        _ = machine.handle(.timer)
      }
    }
    #expect(quarantined <= 1 + waits / (FaultSearch.proofsWithoutSuccess - 1))
    #expect(quarantined > 1 && waits > 100)
  }

  @Test("a set of which the server says something else each time was damaged on its way (I3)")
  func damaged() {
    var machine = syncing()
    for number in 0..<100 {
      let event = SyncMachine.Event.failed(
        .unacceptable(items: 1, isTooLarge: false, reason: "ends at \(number)"))
      var actions = machine.handle(event)
      if actions == [.send(changeSetLimit: 0)] { actions = machine.handle(.answered(hasMore: true)) }
      #expect(!actions.contains(.quarantineOldest))
      if machine.state == .waiting { _ = machine.handle(.timer) }
    }
  }

  @Test("a set that is taken after the request without it was not at fault (I12)")
  func innocent() {
    var machine = syncing()
    _ = machine.handle(refusal(1))
    _ = machine.handle(.answered(hasMore: true))
    #expect(machine.handle(.answered(hasMore: false, items: 1)).last == .finish(nil))
    _ = machine.handle(.syncNow)
    // A failure in between proves nothing.
    _ = machine.handle(refusal(1))
    _ = machine.handle(.failed(.later(reason: "", retryAfter: nil)))
    _ = machine.handle(.timer)
    #expect(machine.handle(refusal(1)) == [.send(changeSetLimit: 0)])
  }

  @Test("a copy of a device asks for a new identity and goes on (I1)")
  func diverged() {
    var machine = syncing()
    #expect(machine.handle(.failed(.diverged)) == [.identify])
    #expect(machine.handle(.identified).contains(.send(changeSetLimit: SyncMachine.changeSetLimit)))
    // A server that contradicts the new identity too is not asked without pause.
    let actions = machine.handle(.failed(.diverged))
    #expect(machine.state == .waiting)
    #expect(!actions.contains(.identify))
    // But after the wait it is asked again: the device may have been copied once more.
    _ = machine.handle(.timer)
    #expect(machine.handle(.failed(.diverged)) == [.identify])
  }

  @Test("a new identity whose answer was lost is asked for again (I3)")
  func divergedAndUnanswered() {
    var machine = syncing()
    #expect(machine.handle(.failed(.diverged)) == [.identify])
    _ = machine.handle(.failed(.later(reason: "no network", retryAfter: nil)))
    _ = machine.handle(.timer)
    #expect(machine.handle(.failed(.diverged)) == [.identify])
  }

  @Test("what the stream tells is asked for at once, and once more when it comes in between (I7)")
  func pushed() {
    var machine = machine()
    #expect(machine.handle(.pushed).last == .send(changeSetLimit: SyncMachine.changeSetLimit))
    #expect(machine.handle(.pushed) == [])
    #expect(
      machine.handle(.answered(hasMore: false)).last == .send(changeSetLimit: SyncMachine.changeSetLimit))
    #expect(machine.handle(.answered(hasMore: false)).last == .finish(nil))
    _ = machine.handle(.edited)
    #expect(machine.handle(.pushed).last == .send(changeSetLimit: SyncMachine.changeSetLimit))
    _ = machine.handle(.failed(.later(reason: "", retryAfter: nil)))
    #expect(machine.handle(.pushed) == [])
  }

  @Test("while there is a stream the polls are rare; without one they are back within a minute (I7)")
  func attended() {
    var machine = machine(random: 300_000)
    #expect(machine.handle(.attended(hasMissed: false)) == [.schedule(.seconds(900))])
    #expect(machine.handle(.unattended) == [.schedule(.milliseconds(300_000 % 60_001))])
    #expect(
      machine.handle(.attended(hasMissed: true)).last == .send(changeSetLimit: SyncMachine.changeSetLimit))
    #expect(machine.handle(.attended(hasMissed: true)) == [])
    #expect(
      machine.handle(.answered(hasMore: false)).last == .send(changeSetLimit: SyncMachine.changeSetLimit))
    #expect(machine.handle(.answered(hasMore: false)) == [.schedule(.seconds(900)), .finish(nil)])
    #expect(machine.handle(.unattended) != [])
    _ = machine.handle(.timer)
    #expect(machine.handle(.answered(hasMore: false)) == [.schedule(SyncMachine.period), .finish(nil)])
    // The wait of an edit is not put off.
    _ = machine.handle(.edited)
    #expect(machine.handle(.attended(hasMissed: false)) == [])
    #expect(machine.handle(.unattended) == [])
  }

  @Test("a stream that opens shows that the server is there again (I7)")
  func reopened() {
    var machine = syncing()
    _ = machine.handle(.failed(.later(reason: "", retryAfter: nil)))
    #expect(
      machine.handle(.attended(hasMissed: false)).last == .send(changeSetLimit: SyncMachine.changeSetLimit))
  }
}
