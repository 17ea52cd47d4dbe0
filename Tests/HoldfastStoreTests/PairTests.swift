import Foundation
import HoldfastCore
import HoldfastHTTP
import ServerScenes
import Testing

/// Every pair of operations that can meet on one record: the table of PROTOCOL.md, section 5.2. Invariants I1, I3, I7, I8.
@Suite struct PairTests {
  /// One pair: `x` does the first at 8 s, `y` the second at 9 s, and neither knows of the other's.
  struct Pair: CustomTestStringConvertible, Sendable {
    let first: Act
    let second: Act
    /// What it comes to when the first arrives first, when the second does, and when one device does both, in this order.
    let outcomes: (inOrder: String, reversed: String, alone: String)

    init(_ first: Act, _ second: Act, _ inOrder: String, reversed: String? = nil, alone: String) {
      (self.first, self.second) = (first, second)
      outcomes = (inOrder, reversed ?? inOrder, alone)
    }

    var testDescription: String { "\(first.rawValue) and \(second.rawValue)" }
  }

  /// An operation, by its name in the table.
  enum Act: String, CaseIterable, Sendable {
    case create, update
    case updateOther = "update of another column"
    case delete, restore, move, reorder
  }

  @Test(
    "each pair of the table has its outcome, in both orders, replayed, and by one device",
    arguments: PairCases.all)
  func outcome(_ pair: Pair) throws {
    let server = try TestServer(MergeSchema.schema())
    let (inOrder, reversed, alone) = (
      try PairScene(pair, server, "clerk").run(.inOrder),
      try PairScene(pair, server, "baker").run(.reversed), try PairScene(pair, server, "smith").run(.alone)
    )
    #expect(try server.findings().isEmpty)
    #expect(inOrder == pair.outcomes.inOrder)
    #expect(reversed == pair.outcomes.reversed, "the other way")
    #expect(alone == pair.outcomes.alone, "by one device")
  }

  @Test("every pair of operations is in the table and has a case, and no other")
  func complete() throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/PROTOCOL.md")
    let text = try String(contentsOf: file, encoding: .utf8)
    let section = try #require(
      text.components(separatedBy: "\n### 5.2 ").last?.components(separatedBy: "\n## ").first)
    let rows = section.split(separator: "\n").compactMap { line -> String? in
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      guard cells.count > 2, Act(rawValue: cells[0]) != nil, Act(rawValue: cells[1]) != nil else {
        return nil
      }
      return "\(cells[0]) and \(cells[1])"
    }
    var expected: [String] = []
    for (index, first) in Act.allCases.enumerated() {
      for second in Act.allCases[index...] { expected.append("\(first.rawValue) and \(second.rawValue)") }
    }
    #expect(rows.sorted() == expected.sorted())
    #expect(PairCases.all.map(\.testDescription).sorted() == expected.sorted())
  }
}

/// Two devices of a user that do one operation each to one record, and a third that looks on.
struct PairScene {
  enum Order { case inOrder, reversed, alone }

  private let pair: PairTests.Pair
  private let server: TestServer
  private let name: String
  private let x: TestDevice
  private let y: TestDevice
  private let clerk: TestDevice
  private let lists: [String]
  private let item: String

  init(_ pair: PairTests.Pair, _ server: TestServer, _ name: String) throws {
    (self.pair, self.server, self.name) = (pair, server, name)
    clerk = try server.signUp(name)
    (x, y) = (try server.signIn(name), try server.signIn(name))
    lists = [try clerk.makeList(), try clerk.makeList(), try clerk.makeList()]
    item = clerk.newID()
    let acts = [pair.first, pair.second]
    // A create meets a record that is deleted when a copy of its device sends it again.
    if !acts.contains(.create) || acts.contains(.restore) {
      try clerk.sync([.create("items", item, ["list_id": .string(lists[0]), "title": "old"])])
      for device in [x, y] { try device.pull() }
    }
    guard acts.contains(.restore) else { return }
    try clerk.sync([.delete("items", item, at: Stamp(milliseconds: 5000))])
    for (device, act) in [(x, pair.first), (y, pair.second)] where act == .restore { try device.pull() }
  }

  /// Sends both, each twice; gives what all devices then have.
  func run(_ order: Order) throws -> String {
    let both = [(x, pair.first, "x", Int64(8000)), (order == .alone ? x : y, pair.second, "y", 9000)]
    if order == .alone { try x.pull() }
    var refusals: [String] = []
    for (device, act, name, time) in order == .reversed ? both.reversed() : both {
      let request = device.request([[sent(act, name, time)]])
      let answer = try device.apply(try server.respond(to: request))
      for refused in answer.refused where refused.last == answer.confirmed {
        refusals.append("\(name) refused \(Problem(document: refused.problem)?.code.rawValue ?? "")")
      }
      let before = device.confirmed
      let replay = try SyncAnswer(body: try server.respond(to: request).body)
      #expect(replay.confirmed == before)
    }
    let newcomer = try server.signIn(name)
    for device in [clerk, x, y, newcomer] { try device.pull() }
    for device in [x, y, newcomer] { #expect(device.records == clerk.records) }
    return ([found] + logged + refusals).joined(separator: "; ")
  }

  private func sent(_ act: PairTests.Act, _ name: String, _ time: Int64) -> Sent {
    let at = Stamp(milliseconds: time)
    func update(_ column: String, _ value: JSONValue, _ base: JSONValue) -> Sent {
      .update("items", item, .object([.init(column, value)]), base: .object([.init(column, base)]), at: at)
    }
    switch act {
    case .create, .restore:
      let title = (act == .create ? "made by " : "back by ") + name
      return .create("items", item, ["list_id": .string(lists[0]), "title": .string(title)], at: at)
    case .update:
      let isNew = pair.first == .create
      return update("title", .string("title of " + name), isNew ? "made by x" : "old")
    case .updateOther: return update("note", .string("note of " + name), .null)
    case .delete: return .delete("items", item, at: at)
    case .move: return update("list_id", .string(lists[name == "x" ? 1 : 2]), .string(lists[0]))
    case .reorder: return update("place", .string(name == "x" ? Self.places.0 : Self.places.1), .null)
    }
  }

  private static let places = (
    Position.between(nil, nil, replica: .init(random: 1), nonce: 1).string,
    Position.between(nil, nil, replica: .init(random: 2), nonce: 2).string
  )

  /// The record as a device has it.
  private var found: String {
    guard let record = clerk.records["items \(item)"] else { return "gone" }
    var parts = [record.columns["title"]?.stringValue ?? ""]
    if let note = record.columns["note"]?.stringValue { parts.append(note) }
    if let place = record.columns["place"]?.stringValue {
      parts.append("at \(place == Self.places.0 ? "x" : "y")")
    }
    if record.zone != lists[0] { parts.append("moved by \(record.zone == lists[1] ? "x" : "y")") }
    return parts.joined(separator: ", ")
  }

  /// The values that lost.
  private var logged: [String] {
    let lost = clerk.all("conflicts").map { conflict -> String in
      switch conflict["column_name"]?.stringValue {
      case "list_id": "list"
      case "place": "place"
      default: conflict["loser_value"]?.stringValue ?? "null"
      }
    }
    return lost.isEmpty ? [] : ["logged: " + lost.sorted().joined(separator: ", ")]
  }
}
