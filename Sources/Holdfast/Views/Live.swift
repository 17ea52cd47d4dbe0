#if canImport(SwiftUI)
  public import SwiftUI

  extension EnvironmentValues {
    /// The store that `@Live` reads; set it at the root: `.environment(\.holdfastStore, store)`.
    public var holdfastStore: Store? {
      get { self[StoreKey.self] }
      set { self[StoreKey.self] = newValue }
    }

    /// The folder that `@Live` reads in place of a store; set it at the root: `.environment(\.holdfastFolder, folder)`.
    public var holdfastFolder: StoreFolder? {
      get { self[FolderKey.self] }
      set { self[FolderKey.self] = newValue }
    }
  }

  private struct FolderKey: EnvironmentKey {
    static let defaultValue: StoreFolder? = nil
  }

  private struct StoreKey: EnvironmentKey {
    static let defaultValue: Store? = nil
  }

  /// The result of a query in a view: there in the first frame, and present from then on.
  ///
  /// ```swift
  /// struct OpenItems: View {
  ///   @Live(Item.where(\.done == false).order(by: \.position)) private var items
  ///
  ///   var body: some View {
  ///     List(items, id: \.id) { Text($0.title) }
  ///   }
  /// }
  ///
  /// OpenItems().environment(\.holdfastStore, store)
  /// ```
  /// A query with values of the view is made in its initializer: `_items = Live(Item.where(\.list_id == list))`. When the values change, so does the
  /// result.
  @MainActor
  @propertyWrapper
  public struct Live<Element: Sendable>: DynamicProperty {
    @Environment(\.holdfastStore) private var store
    @Environment(\.holdfastFolder) private var folder
    @StateObject private var model = LiveModel<Element>()
    private let query: @MainActor (any ReadableStore) -> LiveQuery<[Element]>
    /// Tells queries apart; nil when it can't be made, which the query says itself.
    private let sql: SQL?

    /// The records of a selection.
    public init(_ selection: RecordSelection<Element>) where Element: Record {
      query = { $0.liveQuery(selection) }
      sql = try? selection.query()
    }

    /// The rows of a query, read as values of a type.
    public init(_ type: Element.Type, _ sql: SQL) where Element: Decodable {
      query = { $0.liveQuery(type, sql) }
      self.sql = sql
    }

    /// The present result; nothing without a store.
    public var wrappedValue: [Element] { model.query?.value ?? [] }

    /// The query itself, with the error where there is one: `$items.error`.
    public var projectedValue: LiveQuery<[Element]>? { model.query }

    /// Called by SwiftUI before each body.
    public nonisolated mutating func update() {
      let view = self
      MainActor.assumeIsolated { view.model.follow(view.sql, in: view.folder ?? view.store, view.query) }
    }
  }

  /// Keeps the query of a view from one body to the next.
  @MainActor
  final class LiveModel<Element: Sendable>: ObservableObject {
    @Published private var revision = 0
    private(set) var query: LiveQuery<[Element]>?
    private var known: (sql: SQL?, store: any ReadableStore)?
    private var forwarding: AnyCancellable?

    func follow(
      _ sql: SQL?, in store: (any ReadableStore)?,
      _ make: @MainActor (any ReadableStore) -> LiveQuery<[Element]>
    ) {
      guard let store else {
        (query, known, forwarding) = (nil, nil, nil)
        return
      }
      if let known, known.store === store, known.sql == sql { return }
      let new = make(store)
      (query, known) = (new, (sql, store))
      // Where there is Observation the view watches the query itself; before, this object says when it changes.
      forwarding = new.objectWillChange.sink { [weak self] _ in
        MainActor.assumeIsolated { self?.revision += 1 }
      }
    }
  }
#endif
