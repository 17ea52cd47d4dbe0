import HoldfastCore
import Testing

@testable import HoldfastServer

/// When a team's program is told of which zones.
@Suite struct WebhookPlanTests {
  private func zones(_ names: String..., by author: Int64? = nil) -> [(key: String, value: Int64?)] {
    names.map { ($0, author) }
  }

  @Test("the author of a zone is known while one device alone writes it")
  func authors() {
    var plan = WebhookPlan()
    plan.add(zones("a", "b", by: 1))
    plan.add(zones("b", by: 2))
    plan.add(zones("c"))
    #expect(plan.begin(["a", "b", "c"]) == ["a": 1, "b": 0, "c": 0])
    // The call fails; what comes meanwhile is added.
    plan.add(zones("a", by: 2))
    plan.postponed(now: 0, retryAfter: 0, random: 0)
    #expect(plan.begin(["a"]) == ["a": 0])
    plan.succeeded(["a"])
    #expect(plan.begin(["a"]) == ["a": 0])
  }

  @Test("a zone that moves during its call is told again, as the call may have left out its author")
  func movesDuringCall() {
    var plan = WebhookPlan()
    plan.scanned([])
    plan.add(zones("a", by: 1))
    #expect(plan.begin(["a"]) == ["a": 1])
    plan.add(zones("a", by: 2))
    plan.succeeded(["a"])
    #expect(plan.next(10, now: 0) == ["a"])
    #expect(plan.begin(["a"]) == ["a": 2])
    plan.succeeded(["a"])
    #expect(plan.next(10, now: 0).isEmpty)
  }

  @Test("refused zones that are always due take turns with the others, and among each other (I12)")
  func turns() {
    var plan = WebhookPlan()
    plan.scanned([])
    plan.add(zones("a", "b"))
    _ = plan.begin(["a", "b"])
    plan.refused(["a", "b"], now: 0, random: 0)
    var now: Int64 = 0
    var calls: [[String]] = []
    for _ in 0..<6 {
      // By then each refused zone is due again.
      now += WebhookPlan.backOff.longest
      plan.add(zones("healthy"))
      let next = plan.next(10, now: now)
      calls.append(next)
      _ = plan.begin(next)
      if next == ["healthy"] { plan.succeeded(next) } else { plan.refused(next, now: now, random: 0) }
    }
    #expect(calls == [["a"], ["healthy"], ["b"], ["healthy"], ["a"], ["healthy"]])
  }

  @Test("a zone that moves again before it was told is told once")
  func coalesces() {
    var plan = WebhookPlan()
    plan.scanned([])
    plan.add(zones("a", "b"))
    plan.add(zones("a"))
    #expect(plan.next(10, now: 0) == ["a", "b"])
    _ = plan.begin(["a", "b"])
    plan.succeeded(["a", "b"])
    #expect(plan.next(10, now: 0).isEmpty)
    #expect(plan.nextTime(now: 0) == nil)
  }

  @Test(
    "a program that gives no answer is left alone for longer and longer, up to five minutes, or as long as it asks"
  )
  func backsOff() {
    var plan = WebhookPlan()
    plan.add(zones("a"))
    for (attempt, longest) in [
      1000, 2000, 4000, 8000, 16000, 32000, 64000, 128_000, 256_000, 300_000, 300_000,
    ]
    .enumerated() {
      plan.postponed(now: 0, retryAfter: 0, random: 0)
      #expect(plan.nextTime(now: 0) == Int64(longest / 2), "attempt \(attempt)")
      #expect(plan.next(10, now: Int64(longest / 2) - 1).isEmpty)
      #expect(plan.next(10, now: Int64(longest / 2)) == ["a"])
    }
    plan.postponed(now: 0, retryAfter: 3_600_000, random: .max)
    #expect(plan.nextTime(now: 0) == 3_600_000)
    _ = plan.begin(["a"])
    plan.succeeded(["a"])
    plan.add(zones("b"))
    #expect(plan.next(10, now: 0) == ["b"])
  }

  @Test("a database that can't be asked which zones are behind is left alone for longer and longer, too")
  func waitsToScan() {
    var plan = WebhookPlan()
    #expect(plan.scanPlace(now: 0) == "" && plan.nextTime(now: 0) == 0)
    plan.postponed(now: 0, retryAfter: 1000, random: 0)
    #expect(plan.scanPlace(now: 999) == nil && plan.nextTime(now: 0) == 1000)
    plan.scanned([])
    #expect(plan.nextTime(now: 0) == nil)
  }

  @Test("zones of a call that is refused are told one by one; one that is refused alone waits alone (I12)")
  func separates() {
    var plan = WebhookPlan()
    plan.add(zones("a", "b", "c"))
    plan.refused(["a", "b", "c"], now: 0, random: 0)
    #expect(plan.next(10, now: 0) == ["a"])
    plan.refused(["a"], now: 0, random: 0)
    #expect(plan.next(10, now: 0) == ["b"])
    _ = plan.begin(["b"])
    plan.succeeded(["b"])
    plan.add(zones("d"))
    for zone in ["d", "c"] {
      #expect(plan.next(10, now: 0) == [zone])
      _ = plan.begin([zone])
      plan.succeeded([zone])
    }
    #expect(plan.next(10, now: 0).isEmpty)
    #expect(plan.next(10, now: 500) == ["a"])
  }

  @Test("more zones than are kept in memory are asked for in the database (I11)")
  func bounded() {
    var plan = WebhookPlan()
    plan.scanned([])
    plan.add((0..<WebhookPlan.limit).map { ("zone \($0)", nil) })
    plan.add(zones("one more"))
    let told = plan.next(WebhookPlan.scanSize, now: 0)
    #expect(plan.scanPlace(now: 0) == nil && !told.contains("one more"))
    _ = plan.begin(told)
    plan.succeeded(told)
    #expect(plan.scanPlace(now: 0) == "")
  }

  @Test("a scan goes on behind zones that are refused again and again (I12)")
  func scansOn() {
    var plan = WebhookPlan()
    let refused = (0..<WebhookPlan.scanSize).map { "a\(10_000 + $0)" }
    plan.scanned(refused)
    _ = plan.begin(refused)
    plan.refused(refused, now: 0, random: 0)
    #expect(plan.scanPlace(now: 0) == refused.last)
    plan.scanAgain()
    plan.scanned(["healthy"])
    let alone = plan.next(10, now: 0)
    _ = plan.begin(alone)
    plan.refused(alone, now: 0, random: 0)
    #expect(plan.next(10, now: 0) == ["healthy"])
    #expect(plan.scanPlace(now: 0) == "")
    plan.scanned([])
    #expect(plan.scanPlace(now: 0) == nil)
  }

  @Test("the signature is HMAC-SHA256 of the time and the body")
  func signature() {
    let signature = WebhookText.signature(
      of: Array("{}".utf8), at: 1, secret: Array("0123456789abcdef".utf8))
    #expect(signature == "t=1,v1=2af693cb56b22c16912222aeefdc75a01de562bf70ee2015f41ecea48382997f")
  }
}
