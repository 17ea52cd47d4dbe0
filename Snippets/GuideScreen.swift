// The screens of docs/GUIDE.md, for Apple platforms.
#if canImport(SwiftUI)
  import Holdfast
  import SwiftUI

  struct GroceryList: Record, Identifiable {
    static let table = "lists"
    var id: String, title: String
  }

  struct Item: Record, Identifiable {
    static let table = "items"
    var id: String, list_id: String, title: String, done = false, note: String? = nil, position = ""
  }

  // snippet.screen
  struct ItemsScreen: View {
    let list: GroceryList
    @Environment(\.holdfastStore) private var store
    @Live<Item> private var items: [Item]
    @State private var title = ""

    init(list: GroceryList) {
      self.list = list
      _items = Live(Item.where(\.list_id == list.id).order(by: \.position))
    }

    var body: some View {
      List {
        ForEach(items) { item in
          Button(item.done ? "✓ \(item.title)" : item.title) {
            write { db in try db.update(Item.self, id: item.id) { $0.done.toggle() } }
          }
        }
        .onDelete { rows in
          let ids = rows.map { items[$0].id }
          write { db in for id in ids { try db.delete(Item.self, id: id) } }
        }
        TextField("New item", text: $title).onSubmit { add() }
      }
      .navigationTitle(list.title)
    }

    private func add() {
      let (list, title) = (list.id, title)
      self.title = ""
      write { db in try db.insert([Item(id: db.newID(), list_id: list, title: title)], at: .last) }
    }

    private func write(_ change: @escaping @Sendable (Database) throws -> Void) {
      Task { try await store?.write(change) }
    }
  }
  // snippet.end

  // snippet.root
  struct RootScreen: View {
    let store: Store
    let engine: SyncEngine
    @Environment(\.scenePhase) private var phase

    var body: some View {
      NavigationStack { ListsScreen() }
        .environment(\.holdfastStore, store)
        .task { await engine.run() }
        .onChange(of: phase) { new in
          Task {
            if new == .background { await engine.suspend() }
            if new == .active { try await engine.resume() }
          }
        }
    }
  }

  struct ListsScreen: View {
    @Live(GroceryList.order(by: \.title)) private var lists

    var body: some View {
      List(lists) { list in
        NavigationLink(list.title) { ItemsScreen(list: list) }
      }
    }
  }
// snippet.end
#endif
