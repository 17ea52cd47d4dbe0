import Foundation
import Holdfast

/// What must hold in the end, read by SQL from the databases and the devices' files. It knows nothing of merging.
struct Verdict {
  let places: [Place]
  let devices: [FolderDevice]
  let tokens: Tokens.State

  /// What the people did, in words.
  var summary: String {
    "\(tokens.count) edits of \(tokens.lists.count) lists and \(tokens.items.count) items, "
      + "\(tokens.failures) not written as their list was in two files just then, or in none"
  }

  /// The files of devices that hold something else than the zones that their user may read, or in which edits wait.
  func behind() throws -> [String] {
    let contents = try places.map { try PlaceContents(of: $0) }
    return try devices.flatMap { device in
      try zip(places, contents).compactMap { place, content in
        let readable = content.readable[device.user] ?? []
        let file = device.file(of: place.name)
        guard FileManager.default.fileExists(atPath: file) else { return readable.isEmpty ? nil : file }
        let here = try Snapshot(path: file)
        let isEqual = here.zones == content.lines.filter { readable.contains($0.key) }
        let gone = contents.reduce(into: Set<String>()) { $0.formUnion($1.gone) }
        return isEqual && here.waiting == 0 && here.refused.allSatisfy { isOver($0, gone) } ? nil : file
      }
    }
  }

  /// Whether a refused change set is about deleted records alone: it stays with its person.
  private func isOver(_ set: Data, _ gone: Set<String>) -> Bool {
    let operations = (try? JSONSerialization.jsonObject(with: set)) as? [[String: Any]] ?? []
    return !operations.isEmpty && operations.allSatisfy { ($0["id"] as? String).map(gone.contains) == true }
  }

  /// Checks everything.
  ///
  /// - Parameter say: takes a line for each check.
  /// - Returns: how many went wrong.
  func run(_ say: (String) -> Void) throws -> Int {
    let contents = try places.map { try PlaceContents(of: $0) }
    var wrong = 0
    func check(_ what: String, _ found: [String]) {
      if !found.isEmpty { wrong += 1 }
      say(
        "  \(what.padding(toLength: 84, withPad: " ", startingAt: 0)) \(found.count)  \(found.isEmpty ? "ok" : "WRONG")"
      )
      for line in found.sorted().prefix(5) { say("    \(line)") }
    }
    let (items, lists) = (tokens.items, tokens.lists)
    check(
      "lists of \(lists.count) that are not in one database (I1, I2)",
      lists.keys.filter { list in contents.count { $0.zones.contains(list) } != 1 })
    check(
      "items of \(items.count) that are neither live nor deleted, or are twice (I1, I2, I3)",
      items.keys.filter { item in
        contents.reduce(0) { $0 + ($1.items[item] == nil ? 0 : 1) + ($1.gone.contains(item) ? 1 : 0) } != 1
      })
    check(
      "items gone that nobody deleted (I3)",
      contents.flatMap { $0.gone.filter { items[$0]?.isDeleted == false } })
    check(
      "items that came back from their deletion (I8)",
      contents.flatMap { $0.items.keys.filter { items[$0]?.isDeleted == true } })
    check(
      "items and lists that nobody made",
      contents.flatMap { content in
        content.items.keys.filter { items[$0] == nil } + content.lists.keys.filter { lists[$0] == nil }
      })
    check(
      "texts of items that are nowhere (I3)",
      contents.flatMap { content in
        content.items.flatMap { id, item in missing(items[id], id, item.title, content) }
      })
    check(
      "titles of lists that are nowhere (I3)",
      contents.flatMap { content in
        content.lists.flatMap { id, title in missing(lists[id], id, title, content) }
      })
    check(
      "items with an edit that counts twice, or not (I1)",
      contents.flatMap { content in
        content.items.compactMap { id, item in
          guard let made = items[id], item.amount != 1 + made.updates else { return nil }
          return "\(id): \(item.amount), expected \(1 + made.updates)"
        }
      })
    check("files of devices that differ from what their user may read, or wait (I7, I10, I12)", try behind())
    return wrong
  }

  /// The texts typed in a record that are neither its value nor in the conflict log, and were replaced by nobody who had seen them.
  private func missing(_ record: Tokens.Record?, _ id: String, _ value: String, _ content: PlaceContents)
    -> [String]
  {
    (record?.typed ?? []).filter { token in
      token != value && record?.replaced.contains(token) != true
        && content.logged[id]?.contains("\"\(token)\"") != true
    }.map { "\($0) of \(id), which says \(value)" }
  }
}
