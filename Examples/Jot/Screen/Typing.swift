/// A text that a person types, and what becomes of it.
struct Typing: Hashable, Sendable {
  enum Purpose: Hashable, Sendable {
    case newList
    case newItem(list: String)
    case listTitle(id: String, seen: String)
    case itemTitle(id: String, seen: String)
    case note(Item)
    case tags(id: String, seen: [String])
    case filter
  }

  var purpose: Purpose
  var field: TextField

  init(_ purpose: Purpose) {
    self.purpose = purpose
    field =
      switch purpose {
      case .newList, .newItem, .filter: TextField()
      case .listTitle(_, let seen), .itemTitle(_, let seen): TextField(seen)
      case .note(let seen): TextField(seen.note ?? "")
      case .tags(_, let seen): TextField(seen.joined(separator: ", "))
      }
  }

  /// What stands before the text.
  var prompt: String {
    switch purpose {
    case .newList: "New list: "
    case .newItem: "New item: "
    case .listTitle, .itemTitle: "Title: "
    case .note: "Note: "
    case .tags: "Tags, with commas: "
    case .filter: "/"
    }
  }

  /// The edit that saves the text; nil when there is none to make.
  var edit: ScreenEdit? {
    let text = field.text
    let isBlank = text.allSatisfy(\.isWhitespace)
    switch purpose {
    case .newList: return isBlank ? nil : .addList(text)
    case .newItem(let list): return isBlank ? nil : .addItem(text, list: list)
    case .listTitle(let id, let seen): return isBlank ? nil : .renameList(id, seen: seen, typed: text)
    case .itemTitle(let id, let seen): return isBlank ? nil : .renameItem(id, seen: seen, typed: text)
    case .note(let seen): return .note(seen, typed: isBlank ? nil : text)
    case .tags(let id, let seen):
      let (typed, known) = (Self.tags(in: text), seen.flatMap(Self.tags))
      // A tag may itself have a comma.
      let removed = seen.filter { !Self.tags(in: $0).allSatisfy(typed.contains) }
      return .tags(id, adding: typed.filter { !known.contains($0) }, removing: removed)
    case .filter: return nil
    }
  }

  private static func tags(in text: String) -> [String] {
    text.split(separator: ",").map { String($0.trimmingPrefix(while: \.isWhitespace)) }
      .map { String($0.reversed().trimmingPrefix(while: \.isWhitespace).reversed()) }.filter { !$0.isEmpty }
  }

  /// The same, written over a title that somebody has meanwhile given.
  func over(_ title: String) -> Typing {
    var typing = self
    switch purpose {
    case .listTitle(let id, _): typing.purpose = .listTitle(id: id, seen: title)
    case .itemTitle(let id, _): typing.purpose = .itemTitle(id: id, seen: title)
    case .newList, .newItem, .note, .tags, .filter: break
    }
    return typing
  }
}
