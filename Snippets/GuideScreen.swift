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
    var id: String, list_id: String, title: String, done = false, note: String?, position = ""
  }

  // snippet.screen
  struct ItemsScreen: View {
    let store: Store
    let list: GroceryList
    @State private var items: LiveQuery<[Item]>
    @State private var title = ""

    init(store: Store, list: GroceryList) {
      self.store = store
      self.list = list
      let selection = Item.where(\.list_id == list.id).order(by: \.position)
      _items = State(wrappedValue: store.liveQuery(selection))
    }

    var body: some View {
      List {
        ForEach(items.value) { item in
          Button(item.done ? "✓ \(item.title)" : item.title) {
            write { db in try db.update(Item.self, id: item.id) { $0.done.toggle() } }
          }
        }
        .onDelete { rows in
          let ids = rows.map { items.value[$0].id }
          write { db in for id in ids { try db.delete(Item.self, id: id) } }
        }
        TextField("New item", text: $title).onSubmit {
          let item = title
          title = ""
          write { [list] db in
            try db.insert([Item(id: db.newID(), list_id: list.id, title: item)], at: .last)
          }
        }
      }
      .navigationTitle(list.title)
    }

    private func write(_ change: @escaping @Sendable (Database) throws -> Void) {
      Task { try await store.write(change) }
    }
  }
  // snippet.end

  // snippet.root
  struct RootScreen: View {
    let store: Store
    let engine: SyncEngine
    @Environment(\.scenePhase) private var phase
    @State private var lists: LiveQuery<[GroceryList]>

    init(store: Store, engine: SyncEngine) {
      self.store = store
      self.engine = engine
      _lists = State(wrappedValue: store.liveQuery(GroceryList.order(by: \.title)))
    }

    var body: some View {
      NavigationStack {
        List(lists.value) { list in
          NavigationLink(list.title) { ItemsScreen(store: store, list: list) }
        }
      }
      .task { await engine.run() }
      .onChange(of: phase) { _, new in
        Task {
          if new == .background { await engine.suspend() }
          if new == .active { try await engine.resume() }
        }
      }
    }
  }
  // snippet.end
#endif
