import Testing

@testable import HoldfastCore

/// The policies `counter` and `set`, and who decides where a base is missing: PROTOCOL.md, section 5.1.
@Suite("Combining edits")
struct CombinationTests {
  private let last = ColumnStamp(rev: 5, stamp: Stamp(milliseconds: 1000), device: 1)

  private func decide(
    _ policy: MergePolicy, base: Value?, _ value: Value, over current: Value, device: Int64 = 2,
    at milliseconds: Int64 = 2000
  ) -> ColumnMerge {
    let edit = ColumnEdit(
      value: value, base: base, rev: 4, stamp: Stamp(milliseconds: milliseconds), device: device)
    return .decide(current: current, last: last, edit: edit, policy: policy)
  }

  @Test(
    "an increment counts on top of what is there, also of the same device, and where the values are equal (I3)"
  )
  func counter() {
    #expect(
      decide(.counter, base: .integer(5), .integer(6), over: .integer(7)) == .combined(.init(.integer(8))))
    #expect(
      decide(.counter, base: .integer(5), .integer(6), over: .integer(6)) == .combined(.init(.integer(7))))
    #expect(
      decide(.counter, base: .integer(6), .integer(7), over: .integer(9), device: 1)
        == .combined(.init(.integer(10))))
    #expect(decide(.counter, base: .integer(5), .integer(6), over: .integer(5)) == .applied)
    #expect(decide(.counter, base: .null, .integer(3), over: .null) == .applied)
    #expect(decide(.counter, base: .integer(4), .integer(4), over: .integer(4)) == .unchanged)
  }

  @Test("a sum beyond 64 bits is no value")
  func overflow() {
    #expect(decide(.counter, base: .integer(0), .integer(1), over: .integer(.max)) == .impossible)
    #expect(decide(.counter, base: .integer(.min), .integer(.max), over: .integer(0)) == .impossible)
  }

  @Test("without a base the later edit counts, as by latest")
  func withoutBase() {
    for policy in [MergePolicy.counter, .set, .text] {
      #expect(decide(policy, base: nil, .text("[1]"), over: .text("x")) == .won)
      #expect(decide(policy, base: nil, .text("[1]"), over: .text("x"), at: 1) == .lost)
    }
  }

  @Test("what can't be combined is decided as by latest: texts that are null, JSON that is no set")
  func otherForms() {
    #expect(decide(.text, base: .text("a"), .text("a b"), over: .null) == .won)
    #expect(decide(.set, base: .text("[]"), .text("[\"a\"]"), over: .text("{}")) == .won)
  }

  @Test("where both changed the same words the loser is kept for the log, whoever prevails (I3)")
  func lossyText() {
    let won = decide(.text, base: .text("a"), .text("b"), over: .text("c"))
    #expect(won == .combined(.init(.text("b"), isLossy: true)))
    let lost = decide(.text, base: .text("a"), .text("b"), over: .text("c"), at: 1)
    #expect(lost == .combined(.init(.text("c"), isLossy: true)))
  }

  @Test("the team's function is asked only where somebody else changed the column")
  func resolver() {
    #expect(decide(.resolver, base: .text("a"), .text("b"), over: .text("c")) == .resolving)
    #expect(decide(.resolver, base: .text("a"), .text("b"), over: .text("a")) == .applied)
    #expect(decide(.resolver, base: .text("a"), .text("b"), over: .text("b")) == .unchanged)
  }

  // MARK: Histories

  /// Edits of one column by some devices; each device makes its own one after the other, and knows of no other's.
  private struct History: CustomStringConvertible {
    var start: [Int]
    /// For each device what it adds, or, below zero, removes.
    var edits: [[Int]]
    var seed: UInt64

    var description: String { "from \(start): \(edits), order \(seed)" }

    var smaller: [History] {
      edits.indices.flatMap { device in
        Property.shorter(edits[device]).map { rest in
          var history = self
          history.edits[device] = rest
          return history
        }
      } + Property.shorter(start).map { History(start: $0, edits: edits, seed: seed) }
    }

    static func random(_ edits: ClosedRange<Int>) -> (inout SeededRandom) -> History {
      { random in
        History(
          start: (1...5).filter { _ in Bool.random(using: &random) },
          edits: (0..<3).map { _ in
            (0..<Int.random(in: edits, using: &random)).map { _ in Int.random(in: -5...5, using: &random) }
          }, seed: random.next())
      }
    }

    /// Applies all edits in an order of a seed, in which each device keeps its own; gives the value that comes of it.
    func outcome(order seed: UInt64, _ policy: MergePolicy, start: Value, step: (Value, Int) -> Value)
      -> Value?
    {
      var random = SeededRandom(seed: seed)
      var (current, rev) = (start, Int64(1))
      var shown = [Value](repeating: start, count: edits.count)
      var waiting = edits
      while let device = waiting.indices.filter({ !waiting[$0].isEmpty }).randomElement(using: &random) {
        let base = shown[device]
        shown[device] = step(base, waiting[device].removeFirst())
        let edit = ColumnEdit(
          value: shown[device], base: base, rev: 1, stamp: Stamp(milliseconds: rev), device: Int64(device + 1)
        )
        let last = ColumnStamp(rev: rev, stamp: Stamp(milliseconds: rev), device: 0)
        switch ColumnMerge.decide(current: current, last: last, edit: edit, policy: policy) {
        case .unchanged: break
        case .applied: current = edit.value
        case .combined(let combination): current = combination.value
        case .won, .lost, .resolving, .impossible: return nil
        }
        rev += 1
      }
      return current
    }
  }

  @Test("counters come to the same sum in every order (I7)")
  func counterOrders() {
    func add(_ value: Value, _ step: Int) -> Value {
      guard case .integer(let number) = value else { return .integer(Int64(step)) }
      return .integer(number + Int64(step))
    }
    Property.check(2000, History.random(0...5), shrink: \.smaller) { history in
      let start = Value.integer(Int64(history.start.count))
      let sum = Int64(history.start.count + history.edits.joined().reduce(0, +))
      for order in [history.seed, history.seed &+ 1] {
        let value = history.outcome(order: order, .counter, start: start, step: add)
        if value != .integer(sum) { return "\(String(describing: value)) is not \(sum)" }
      }
      return nil
    }
  }

  @Test(
    "sets that were changed from one state come to the same in every order, and a replay adds nothing (I1, I7)"
  )
  func setOrders() {
    func elements(_ numbers: [Int]) -> Value {
      MergePolicy.json(of: Set(numbers.map { Array("\($0)".utf8) }))
    }
    func change(_ value: Value, _ step: Int) -> Value {
      var set = MergePolicy.elements(value) ?? []
      if step > 0 { set.insert(Array("\(step)".utf8)) } else { set.remove(Array("\(-step)".utf8)) }
      return MergePolicy.json(of: set)
    }
    Property.check(2000, seed: 5, History.random(0...1), shrink: \.smaller) { history in
      let start = elements(history.start)
      var expected = Set(history.start)
      for step in history.edits.joined() {
        // To add what was there is no change, nor is it one to remove what was not.
        let isThere = history.start.contains(abs(step))
        if step > 0, !isThere { expected.insert(step) }
        if step < 0, isThere { expected.remove(-step) }
      }
      for order in [history.seed, history.seed &+ 1] {
        let value = history.outcome(order: order, .set, start: start, step: change)
        if value != elements(Array(expected)) { return "\(String(describing: value)) in order \(order)" }
        for step in history.edits.joined() {
          let replay = MergePolicy.set.combined(
            base: start, mine: change(start, step), theirs: value ?? .null, minePrevails: true)
          if replay?.value != value { return "a replay of \(step) changes it" }
        }
      }
      return nil
    }
  }

  @Test("a set takes null or an array of texts, each once; and policies only fit their types")
  func checks() throws {
    let column = ColumnSchema("labels", .json, policy: .set)
    for good in ["[]", "[\"a\",\"b\"]", "[\"e\\u0301\",\"\\u00e9\"]"] { try column.check(.text(good)) }
    for bad in ["{}", "[1]", "[\"a\",\"a\"]", "\"a\"", "[null]", "[\"a\",\"\\u0061\"]"] {
      #expect(throws: Problem.self) { try column.check(.text(bad)) }
    }
    for (type, policy) in [
      (ColumnType.text, MergePolicy.counter), (.text, .set), (.json, .text), (.real, .counter),
    ] {
      #expect(throws: SchemaError.self) {
        try SyncSchema(
          name: "test",
          tables: [TableSchema("items", zone: .user, columns: [ColumnSchema("one", type, policy: policy)])])
      }
    }
  }
}
