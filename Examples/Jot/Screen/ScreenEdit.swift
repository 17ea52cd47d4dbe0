import HoldfastCore
import Holdfast

/// An edit that the screen asks for. What a person typed comes with the value that the person saw before.
enum ScreenEdit: Hashable, Sendable {
  case addList(String)
  case addItem(String, list: String)
  case renameList(String, seen: String, typed: String)
  case renameItem(String, seen: String, typed: String)
  case note(Item, typed: String?)
  case tags(String, adding: [String], removing: [String])
  case check(String, done: Bool)
  case amount(String, step: Int)
  case move(String, Place)
  case removeList(String)
  case removeItem(String)
}

/// What came of an edit.
enum EditOutcome: Hashable, Sendable {
  case written
  /// The record of this id was added.
  case added(String)
  /// Nothing was written: somebody has meanwhile written this value, which can't be merged with what was typed.
  case met(String)
}

extension Database {
  /// Makes an edit.
  func perform(_ edit: ScreenEdit) throws -> EditOutcome {
    switch edit {
    case .addList(let title): return .added(try addList(title).id)
    case .addItem(let title, let list):
      return .added(try addItems([title], to: list, at: .last).first?.id ?? "")
    case .renameList(let id, let seen, let typed): return try rename(List.self, id, \.title, seen, typed)
    case .renameItem(let id, let seen, let typed): return try rename(Item.self, id, \.title, seen, typed)
    case .note(let seen, let typed): try update(from: seen) { $0.note = typed }
    case .tags(let id, let added, let removed): _ = try changeTags(of: id, adding: added, removing: removed)
    case .check(let id, let done): try checkItems([id], done: done)
    case .amount(let id, let step): _ = try addToAmount(step, of: id)
    case .move(let id, let place): try move(Item.self, ids: [id], to: place)
    case .removeList(let id): try delete(List.self, id: id)
    case .removeItem(let id): try removeItems([id])
    }
    return .written
  }

  private func rename<R: Record>(
    _ type: R.Type, _ id: String, _ path: WritableKeyPath<R, String>, _ seen: String, _ typed: String
  ) throws -> EditOutcome {
    if Value.text(seen) == .text(typed) { return .written }
    var met: String?
    try update(type, id: id) { record in
      let now = record[keyPath: path]
      if Value.text(now) != .text(seen), Value.text(now) != .text(typed) {
        met = now
      } else {
        record[keyPath: path] = typed
      }
    }
    return met.map { .met($0) } ?? .written
  }
}
