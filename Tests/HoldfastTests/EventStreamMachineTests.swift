import Testing

@testable import Holdfast

@Suite("The states of the stream of events")
struct EventStreamMachineTests {
  private func machine(random: UInt64 = .max) -> EventStreamMachine {
    EventStreamMachine(random: { random })
  }

  private func open(random: UInt64 = .max) -> EventStreamMachine {
    var machine = machine(random: random)
    _ = machine.handle(.start)
    _ = machine.handle(.hello(heartbeat: .seconds(10), hasMissed: true))
    return machine
  }

  @Test("a session opens it; the first event says what was missed, and how long silence may last")
  func opens() {
    var machine = machine()
    #expect(machine.handle(.moved) == [])
    #expect(machine.handle(.start) == [.open, .schedule(EventStreamMachine.openLimit)])
    #expect(machine.handle(.received) == [])
    #expect(
      machine.handle(.hello(heartbeat: .seconds(25), hasMissed: true))
        == [.schedule(.seconds(50)), .tell(.attended(hasMissed: true))])
    #expect(machine.handle(.received) == [.schedule(.seconds(50))])
    #expect(machine.handle(.moved) == [.schedule(.seconds(50)), .tell(.pushed)])
  }

  @Test("two heartbeats of silence are its end, and it comes back (I7)")
  func silent() {
    var machine = open(random: 700)
    #expect(machine.handle(.received) == [.schedule(.seconds(20))])
    #expect(machine.handle(.timer) == [.close, .schedule(.milliseconds(700)), .tell(.unattended)])
    #expect(machine.handle(.moved) == [])
    #expect(machine.handle(.timer).first == .open)
    #expect(
      machine.handle(.hello(heartbeat: .seconds(10), hasMissed: false)).last
        == .tell(.attended(hasMissed: false)))
  }

  @Test("one that does not come about in 30 seconds is given up")
  func neverOpens() {
    var machine = machine(random: 5)
    _ = machine.handle(.start)
    #expect(machine.handle(.timer) == [.close, .schedule(.milliseconds(5))])
  }

  @Test(
    "it comes back within what the server says, doubled each time up to five minutes, and not before Retry-After"
  )
  func backOff() {
    var machine = open(random: 1 << 62)
    machine.retryMilliseconds = 40_000
    var waits: [Duration] = []
    for _ in 0..<10 {
      for case .schedule(let wait) in machine.handle(.ended(retryAfter: nil)) { waits.append(wait) }
      _ = machine.handle(.timer)
    }
    let bounds = [40_000, 80_000, 160_000] + Array(repeating: 300_000, count: 7)
    #expect(waits == bounds.map { .milliseconds(Int64((1 << 62) % ($0 + 1))) })
    #expect(machine.handle(.ended(retryAfter: 4000)) == [.schedule(.seconds(4000))])
    // The server has said when; that the network is there says nothing else.
    #expect(machine.handle(.reachable) == [])
    #expect(machine.handle(.timer).first == .open)
    _ = machine.handle(.ended(retryAfter: nil))
    #expect(machine.handle(.reachable).first == .open)
  }

  @Test("a first event alone does not make it come back at once again: only a stream that lasts")
  func lasting() {
    var machine = open(random: 1999)
    for event in [EventStreamMachine.Event.ended(retryAfter: nil), .timer] { _ = machine.handle(event) }
    _ = machine.handle(.hello(heartbeat: .seconds(10), hasMissed: false))
    // The second time in a row: up to 4 s.
    machine.retryMilliseconds = 1000
    #expect(machine.handle(.ended(retryAfter: nil)).first == .schedule(.milliseconds(1999)))
    _ = machine.handle(.timer)
    _ = machine.handle(.hello(heartbeat: .seconds(10), hasMissed: false))
    _ = machine.handle(.received)
    #expect(machine.handle(.ended(retryAfter: nil)).first == .schedule(.milliseconds(1999 % 1001)))
  }

  @Test("one that another stream of the device replaced stays away for minutes")
  func replaced() {
    var machine = open(random: 0)
    #expect(machine.handle(.replaced) == [.close, .schedule(.seconds(150)), .tell(.unattended)])
  }

  @Test("signing out closes it, and a new session opens another")
  func sessions() {
    var machine = open()
    #expect(machine.handle(.stop) == [.stopTimer, .close, .tell(.unattended)])
    #expect(machine.handle(.stop) == [])
    #expect(machine.handle(.timer) == [])
    #expect(machine.handle(.start).first == .open)
    #expect(machine.handle(.start) == [.close, .open, .schedule(EventStreamMachine.openLimit)])
  }

  @Test("a heartbeat that can not be is not believed")
  func heartbeats() {
    var machine = machine()
    _ = machine.handle(.start)
    #expect(
      machine.handle(.hello(heartbeat: .seconds(1 << 40), hasMissed: true)).first == .schedule(.seconds(1200))
    )
    var other = self.machine()
    _ = other.handle(.start)
    #expect(
      other.handle(.hello(heartbeat: .seconds(-5), hasMissed: true)).first == .schedule(.milliseconds(100)))
  }
}
