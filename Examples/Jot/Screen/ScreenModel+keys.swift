import Holdfast

extension ScreenModel {
  /// Takes a key.
  ///
  /// - Returns: what is to be done.
  mutating func take(_ key: Key) -> [ScreenEffect] {
    defer { scroll() }
    say(nil)
    if key == .control("c") { return [.quit] }
    if key == .control("z") { return [.stop] }
    switch mode {
    case .browsing: return browse(key)
    case .typing(let typing): return type(key, typing)
    case .asking(let question): return answer(key, question)
    case .conflicts: return choose(key)
    case .quarantine: return review(key)
    case .help(let line): return readHelp(key, from: line)
    }
  }

  /// Takes what came of an edit.
  mutating func take(_ outcome: EditOutcome) {
    defer { scroll() }
    switch (outcome, mode) {
    case (.met(let title), .typing(let typing)): mode = .asking(.replace(title, typing))
    case (.added(let id), .typing(let typing)):
      mode = .browsing
      if typing.purpose == .newList {
        pane = .items
        listCursor.select(id)
      } else {
        setFilter("")
        itemCursor.select(id)
      }
    case (_, .typing): mode = .browsing
    default: break
    }
  }

  /// Takes that an edit was not written. The text stays in its field; that of an item which is gone can be added as another.
  mutating func take(_ failure: any Error) {
    let isGone = (failure as? StoreError)?.code == .recordMissing
    if isGone, case .typing(var typing) = mode, case .itemTitle = typing.purpose, let list {
      typing.purpose = .newItem(list: list.id)
      mode = .typing(typing)
      say("The item was removed meanwhile. Enter adds the text as a new item.")
    } else {
      say(isGone ? "The record was removed meanwhile." : Failure(failure).message)
    }
  }

  // MARK: Lists and items

  private mutating func browse(_ key: Key) -> [ScreenEffect] {
    if let rows = steps(key) {
      switch pane {
      case .lists: listCursor.move(by: rows, in: lists.map(\.id))
      case .items: itemCursor.move(by: rows, in: visible.map(\.id))
      }
      return []
    }
    switch key {
    case .tab, .shiftTab: pane = pane == .lists ? .items : .lists
    case .left, .scalar("h"): pane = .lists
    case .right, .scalar("l"): pane = .items
    case .enter where pane == .lists: pane = .items
    case .escape: setFilter("")
    case .scalar("q"): return [.quit]
    case .scalar("s"): return [.sync]
    case .scalar("u"): return [.undo]
    case .scalar("c"): mode = .conflicts
    case .scalar("Q"): mode = .quarantine
    case .scalar("?"): mode = .help(0)
    case .scalar("A"): mode = .typing(Typing(.newList))
    case .scalar("a"):
      guard let list else {
        say("Make a list first: A.")
        return []
      }
      pane = .items
      mode = .typing(Typing(.newItem(list: list.id)))
    case .scalar("/"):
      pane = .items
      mode = .typing(Typing(.filter))
    default: return pane == .lists ? editList(key) : editItem(key)
    }
    return []
  }

  /// How many rows a key goes down; nil when it is another key.
  private func steps(_ key: Key) -> Int? {
    switch key {
    case .up, .scalar("k"): -1
    case .down, .scalar("j"): 1
    case .pageUp: -height
    case .pageDown: height
    case .home, .scalar("g"): -Int(Int32.max)
    case .end, .scalar("G"): Int(Int32.max)
    default: nil
    }
  }

  private mutating func editList(_ key: Key) -> [ScreenEffect] {
    guard let list else { return [] }
    switch key {
    case .scalar("e"): mode = .typing(Typing(.listTitle(id: list.id, seen: list.title)))
    case .scalar("d"): mode = .asking(.removeList(id: list.id, title: list.title, items: list.items))
    default: break
    }
    return []
  }

  private mutating func editItem(_ key: Key) -> [ScreenEffect] {
    guard let item else { return [] }
    switch key {
    case .enter, .scalar("e"): mode = .typing(Typing(.itemTitle(id: item.id, seen: item.title)))
    case .scalar("n"): mode = .typing(Typing(.note(item)))
    case .scalar("t"): mode = .typing(Typing(.tags(id: item.id, seen: item.tags ?? [])))
    case .scalar("d"): mode = .asking(.removeItem(id: item.id, title: item.title))
    case .scalar(" "): return early(.check(item.id, done: !item.done))
    case .scalar("+"): return [.edit(.amount(item.id, step: 1))]
    case .scalar("-"): return [.edit(.amount(item.id, step: -1))]
    case .scalar("K"), .shiftUp:
      let above = itemCursor.index - 1
      if above >= 0 { return early(.move(item.id, .before(visible[above].id))) }
    case .scalar("J"), .shiftDown:
      let below = itemCursor.index + 1
      if below < visible.count { return early(.move(item.id, .after(visible[below].id))) }
    default: break
    }
    return []
  }

  private mutating func early(_ edit: ScreenEdit) -> [ScreenEffect] {
    showEarly(edit)
    return [.edit(edit)]
  }

  // MARK: A text, a question

  private mutating func type(_ key: Key, _ typing: Typing) -> [ScreenEffect] {
    var typing = typing
    switch key {
    case .escape:
      mode = .browsing
      if typing.purpose == .filter { setFilter("") }
    case .enter where typing.purpose == .filter: mode = .browsing
    case .enter:
      guard let edit = typing.edit else {
        say("A title has at least one character. Esc leaves it as it was.")
        return []
      }
      return [.edit(edit)]
    default:
      guard typing.field.take(key) else { return [] }
      mode = .typing(typing)
      if typing.purpose == .filter { setFilter(typing.field.text) }
    }
    return []
  }

  private mutating func answer(_ key: Key, _ question: Question) -> [ScreenEffect] {
    let isYes = [.scalar("y"), .scalar("Y")].contains(key)
    guard isYes || [.scalar("n"), .scalar("N"), .escape].contains(key) else { return [] }
    mode = .browsing
    switch question {
    case .removeList(let id, _, _): return isYes ? [.edit(.removeList(id))] : []
    case .removeItem(let id, _): return isYes ? [.edit(.removeItem(id))] : []
    case .replace(let title, let typing):
      if key == .escape { mode = .typing(typing) }
      guard isYes else { return [] }
      let over = typing.over(title)
      mode = .typing(over)
      return over.edit.map { [.edit($0)] } ?? []
    case .discard(let number, _):
      mode = .quarantine
      return isYes ? [.discard(number)] : []
    }
  }

  // MARK: Conflicts, quarantine, help

  private mutating func choose(_ key: Key) -> [ScreenEffect] {
    if let rows = steps(key) {
      conflictCursor.move(by: rows, in: conflicts.map(\.conflict.id))
      return []
    }
    switch key {
    case .escape, .scalar("q"), .scalar("c"): mode = .browsing
    case .scalar("1"): return conflict.map { [.answer($0.conflict, .winner)] } ?? []
    case .scalar("2"): return conflict.map { [.answer($0.conflict, .loser)] } ?? []
    default: break
    }
    return []
  }

  private mutating func review(_ key: Key) -> [ScreenEffect] {
    if let rows = steps(key) {
      refusedCursor.move(by: rows, in: refused.map(\.number))
      return []
    }
    switch key {
    case .escape, .scalar("q"), .scalar("Q"): mode = .browsing
    case .scalar("r"): return refusal.map { [.resend($0.number)] } ?? []
    case .scalar("d"): if let refusal { mode = .asking(.discard(refusal.number, refusal.size)) }
    default: break
    }
    return []
  }

  private mutating func readHelp(_ key: Key, from line: Int) -> [ScreenEffect] {
    if let rows = steps(key) {
      mode = .help(max(0, min(line + rows, KeyHelp.lines(width: columns).count - height)))
    } else {
      mode = .browsing
    }
    return []
  }
}
