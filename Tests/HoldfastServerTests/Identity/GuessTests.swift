import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Testing

@testable import HoldfastServer

/// Wrong passwords: docs/IDENTITY.md, section 4.
@Suite struct GuessTests {
  private func attempt(
    _ count: inout GuessCount, _ name: String = "alice", from address: String = "a", at now: Int64 = 0
  ) -> Problem? {
    do throws(Problem) { try count.begin(.init(name: name, address: address), at: now) } catch {
      return error
    }
    return nil
  }

  @Test(
    "after ten failures an account and an address wait, longer with each further one, for an hour at most")
  func growing() {
    var count = GuessCount(limit: 10)
    for _ in 0..<10 { #expect(attempt(&count) == nil) }
    var (now, waits): (Int64, [Int]) = (0, [])
    for _ in 0..<9 {
      let wait = attempt(&count, at: now)?.retryAfter ?? 0
      waits.append(wait)
      now += Int64(wait) * 1000
      #expect(attempt(&count, at: now) == nil)
    }
    #expect(waits == [30, 60, 120, 240, 480, 960, 1920, 3600, 3600])
    #expect(attempt(&count, from: "b", at: now) == nil)
    #expect(attempt(&count, at: now + GuessCount.life + 1) == nil)
  }

  @Test(
    "attempts at the same moment count before they are known to be wrong, and those that were right do not")
  func concurrent() {
    var count = GuessCount(limit: 3)
    let keys = GuessCount.Keys(name: "alice", address: "a")
    for _ in 0..<3 { #expect(attempt(&count) == nil) }
    #expect(attempt(&count)?.code == .tooManyAttempts)
    count.rollBack(keys, at: 0)
    #expect(attempt(&count) == nil)
    count.succeed(keys, at: 0)
    for _ in 0..<3 { #expect(attempt(&count) == nil) }
  }

  @Test(
    "who guesses from everywhere leaves one attempt to everybody else, and one who guesses at all accounts none to the address"
  )
  func wide() {
    var count = GuessCount(limit: 2)
    for number in 0..<20 { #expect(attempt(&count, from: "bot \(number)") == nil) }
    #expect(attempt(&count, from: "bot 1")?.code == .tooManyAttempts)
    #expect(attempt(&count, from: "fresh") == nil)
    #expect(attempt(&count, from: "fresh")?.code == .tooManyAttempts)
    for number in 0..<20 { #expect(attempt(&count, "user \(number)", from: "sprayer") == nil) }
    #expect(attempt(&count, "another", from: "sprayer")?.code == .tooManyAttempts)
    #expect(attempt(&count, "another", from: "elsewhere") == nil)
  }

  @Test("what is remembered is bounded (I11)")
  func bounded() {
    var count = GuessCount(limit: 2)
    for number in 0..<(3 * GuessCount.half) { _ = attempt(&count, "n\(number)", from: "a\(number)") }
    #expect(attempt(&count, "n0", from: "a0") == nil)
    #expect(count.size <= 6 * GuessCount.half)
  }

  @Test(
    "the right password of an address that guessed waits too, and one from elsewhere passes, unknown names like known ones"
  )
  func signIn() throws {
    let server = try TestServer()
    _ = try server.signUp("alice")
    for name in ["alice", "nobody"] {
      for _ in 0..<10 { #expect(try server.tryPassword("wrong horse", of: name).status == 401) }
      let refused = try server.tryPassword("correct horse", of: name)
      #expect(refused.status == 429)
      #expect(refused.code == "too-many-attempts")
      #expect(refused.header("Retry-After") == "30")
    }
    #expect(try server.tryPassword("correct horse", from: "198.51.100.7").status == 200)
    server.world.advance(30_000)
    #expect(try server.tryPassword("correct horse").status == 200)
    #expect(try server.tryPassword("wrong horse").status == 401)
  }

  @Test("the network of an IPv6 address is one address, and the old password of a change is guessed like any")
  func addresses() throws {
    let server = try TestServer()
    let alice = try server.signUp("alice")
    for number in 1...10 {
      #expect(try server.tryPassword("wrong horse", from: "2001:db8::\(number)").status == 401)
    }
    #expect(try server.tryPassword("wrong horse", from: "2001:db8::ffff").status == 429)
    #expect(try server.tryPassword("wrong horse", from: "2001:db8:0:1::1").status == 401)
    let change: JSONValue = ["old": "wrong horse", "new": "battery staple"]
    for _ in 0..<10 {
      #expect(try server.send("PUT", "/v1/account/password", change, token: alice.token).status == 401)
    }
    #expect(try server.send("PUT", "/v1/account/password", change, token: alice.token).status == 429)
  }
}
