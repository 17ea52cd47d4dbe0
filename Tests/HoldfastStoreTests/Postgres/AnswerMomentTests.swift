import HoldfastCore
import HoldfastPostgres
import ServerScenes
import Synchronization
import TemporaryPostgres
import Testing

@testable import HoldfastServer

/// What is committed while the server reads for an answer: I6.
@Suite struct AnswerMomentTests {
  /// Counts the statements of the server, and does something before one of them.
  private final class Interruption: Sendable {
    private struct State {
      var left = Int.max
      var body: (@Sendable () -> Void)?
    }
    private let state = Mutex(State())

    func set(after count: Int, _ body: @escaping @Sendable () -> Void) {
      state.withLock { $0 = State(left: count, body: body) }
    }

    func see() {
      let body = state.withLock { state in
        state.left -= 1
        return state.left == 0 ? state.body : nil
      }
      body?()
    }

    /// Whether it was done.
    var isOver: Bool { state.withLock { $0.left <= 0 } }
  }

  @Test(
    "a change set over two zones is in an answer whole or not at all, whenever it is committed (I6)",
    arguments: [true, false], [2, 3, 24])
  func whole(isWriting: Bool, zones: Int) throws {
    let interruption = Interruption()
    var location = PostgresLocation(try TemporaryPostgres.shared.makeDatabase())
    let url = location.url
    location.onStatement = { _ in interruption.see() }
    let place = location
    let server = try TestServer { _ in .postgres(place) }
    let alice = try server.signUp("alice")
    // As few as are looked up with the device, or more than are read together; each with one item.
    let lists = try (0..<zones).map { try alice.makeList("\($0)") }
    let items = try lists.map { try alice.makeItem($0, "0") }
    try alice.pull()
    let sql = try SQLWriter(url: url)
    let ends = [lists.min() ?? "", lists.max() ?? ""]
    let (mine, other) = (zip(lists, items).filter { ends.contains($0.0) }.map(\.1), try SQLWriter(url: url))
    var count = 1
    while true {
      // Of the two zones none or one has news before.
      let inner = lists.filter { !ends.contains($0) } + (count % 2 == 0 ? [ends[1]] : [])
      let named = inner.map { "'\($0)'" }.joined(separator: ",")
      try sql.run("UPDATE items SET note = 'n\(count)' WHERE list_id IN (\(named.isEmpty ? "''" : named))")
      let failure = Mutex<(any Error)?>(nil)
      let sentence =
        "UPDATE items SET title = '\(count)' WHERE id IN (\(mine.map { "'\($0)'" }.joined(separator: ",")))"
      nonisolated(unsafe) let writer = other
      interruption.set(after: count) {
        do { try writer.run("SET lock_timeout = '10s'; \(sentence)") } catch {
          failure.withLock { $0 = error }
        }
      }
      if isWriting {
        try alice.sync([.create("notes", alice.newID(), ["text": "x"])])
      } else {
        _ = try alice.apply(server.respond(to: alice.request([])))
      }
      try failure.withLock { if let error = $0 { throw error } }
      let titles = mine.map { alice.column("items", $0, "title") }
      #expect(titles[0] == titles[1], "before statement \(count)")
      let isOver = interruption.isOver
      interruption.set(after: .max) {}
      try alice.pull()
      if isOver { #expect(alice.column("items", mine[0], "title") == .string("\(count)")) }
      if !isOver { break }
      count += 1
    }
    #expect(count > (zones == 24 ? 8 : 4))
  }
}
