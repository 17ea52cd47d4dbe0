import Holdfast

/// What the screen knows and shows. Pure: keys and results of queries go in, and effects come out.
struct ScreenModel: Sendable {
  enum Pane: Hashable, Sendable { case lists, items }

  enum Mode: Hashable, Sendable {
    case browsing
    case typing(Typing)
    case asking(Question)
    case conflicts, quarantine
    /// The help, from a line on.
    case help(Int)
  }

  var columns: Int
  var rows: Int
  var pane = Pane.lists
  var mode = Mode.browsing
  /// The answer to the last key; the next key takes it away.
  private(set) var message: String?
  /// Whether there is a server to sync with.
  let hasServer: Bool
  /// What the engine says; nil before it has said something.
  var status: SyncStatus?

  private(set) var lists: [ListLine] = []
  /// The items of the list that is selected, whatever the filter.
  private(set) var items: [Item] = []
  private(set) var isLoaded = false
  /// Rows of the list that can't be read as items.
  private(set) var unreadable = 0
  private(set) var conflicts: [ShownConflict] = []
  private(set) var refused: [QuarantinedChangeSet] = []
  /// The items that the filter lets through.
  private(set) var visible: [Item] = []
  private(set) var filter = ""

  var listCursor = Selection<String>()
  var itemCursor = Selection<String>()
  var conflictCursor = Selection<String>()
  var refusedCursor = Selection<Int64>()

  init(columns: Int, rows: Int, hasServer: Bool) {
    (self.columns, self.rows, self.hasServer) = (columns, rows, hasServer)
  }

  /// The rows between the heading and the two lines at the bottom.
  var height: Int { max(1, rows - 3) }
  /// The rows of conflicts or refusals, above all of the one that is selected.
  var detailHeight: Int { max(1, height / 3) }

  var list: ListLine? { listCursor.row(of: lists) }
  var item: Item? { itemCursor.row(of: visible) }
  var conflict: ShownConflict? { conflictCursor.row(of: conflicts) }
  var refusal: QuarantinedChangeSet? { refusedCursor.row(of: refused) }

  // MARK: What is read

  mutating func show(lists: [ListLine]) {
    let before = list
    self.lists = lists
    listCursor.follow(lists.map(\.id))
    guard let before, pane == .items, !lists.contains(where: { $0.id == before.id }) else { return }
    // The next keys are not for the items of another list.
    pane = .lists
    say("The list \(before.title) is not on this device any more.")
  }

  /// Shows the items of a list, unless another one is selected meanwhile.
  mutating func show(items rows: [Readable<Item>], of list: String) {
    guard list == self.list?.id else { return }
    items = rows.records()
    unreadable = rows.count - items.count
    isLoaded = true
    applyFilter()
  }

  /// Shows nothing until the items of the list that is selected now are read.
  mutating func forgetItems() {
    (items, unreadable, isLoaded, filter) = ([], 0, false, "")
    itemCursor = Selection()
    applyFilter()
  }

  mutating func show(conflicts: [ShownConflict]) {
    self.conflicts = conflicts.filter { $0.conflict.resolution == nil }
    conflictCursor.follow(self.conflicts.map(\.conflict.id))
  }

  mutating func show(quarantine: [QuarantinedChangeSet]) {
    refused = quarantine
    refusedCursor.follow(refused.map(\.number))
  }

  /// Shows a sentence, as one line, until the next key; nil shows none.
  mutating func say(_ sentence: String?) {
    message = sentence.map { $0.split(whereSeparator: \.isNewline).joined(separator: " ") }
  }

  mutating func setFilter(_ text: String) {
    filter = text
    applyFilter()
  }

  /// Shows an edit at once; the live query says the same in a moment.
  mutating func showEarly(_ edit: ScreenEdit) {
    switch edit {
    case .check(let id, let done):
      if let index = items.firstIndex(where: { $0.id == id }) { items[index].done = done }
    case .move(let id, let place):
      guard let from = items.firstIndex(where: { $0.id == id }) else { return }
      let moved = items.remove(at: from)
      items.insert(moved, at: index(of: place))
    default: return
    }
    applyFilter()
  }

  private func index(of place: Place) -> Int {
    switch place {
    case .first: 0
    case .last: items.endIndex
    case .before(let id): items.firstIndex { $0.id == id } ?? 0
    case .after(let id): items.firstIndex { $0.id == id }.map { $0 + 1 } ?? items.endIndex
    }
  }

  private mutating func applyFilter() {
    let words = filter.lowercased()
    visible =
      words.isEmpty
      ? items : items.filter { "\($0.title) \($0.remark ?? "")".lowercased().contains(words) }
    itemCursor.follow(visible.map(\.id))
  }

  /// Scrolls so that what is selected is visible.
  mutating func scroll() {
    listCursor.scroll(height: height, count: lists.count)
    itemCursor.scroll(height: height, count: visible.count)
    conflictCursor.scroll(height: detailHeight, count: conflicts.count)
    refusedCursor.scroll(height: detailHeight, count: refused.count)
  }
}

/// A question that is answered by y or n.
enum Question: Hashable, Sendable {
  case removeList(id: String, title: String, items: Int)
  case removeItem(id: String, title: String)
  /// Somebody has meanwhile given another title.
  case replace(String, Typing)
  case discard(Int64, String)

  var text: String {
    switch self {
    case .removeList(_, let title, let items):
      "Remove the list \(title) with \(items.of("item")) for all members?"
    case .removeItem(_, let title): "Remove \(title)?"
    case .replace(let title, let typing): "The title is now \(title). Replace it by \(typing.field.text)?"
    case .discard(_, let size): "Discard \(size) for good?"
    }
  }
}
