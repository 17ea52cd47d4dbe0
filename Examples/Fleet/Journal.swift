import Synchronization

/// What the people of the fleet did to items, kept beside the databases: what must have come of it in the end.
final class Journal: Sendable {
  /// One edit that the device's database has taken.
  enum Edit: Sendable {
    case created(String)
    /// Gave an item a value that nobody has given it before.
    case updated(String)
    case deleted(String)
  }

  /// What was done to one item.
  struct Item: Sendable {
    var isCreated = false
    var updates: Int64 = 0
    var isDeleted = false
  }

  private let kept = Mutex<[String: Item]>([:])
  private let edits = Mutex(0)

  /// What was done, by the ids of the items.
  var items: [String: Item] { kept.withLock { $0 } }

  /// How many edits there were.
  var count: Int { edits.withLock { $0 } }

  func note(_ edit: Edit) {
    edits.withLock { $0 += 1 }
    kept.withLock { items in
      switch edit {
      case .created(let id): items[id, default: Item()].isCreated = true
      case .updated(let id): items[id, default: Item()].updates += 1
      case .deleted(let id): items[id, default: Item()].isDeleted = true
      }
    }
  }
}
