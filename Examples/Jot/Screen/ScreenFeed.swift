import Dispatch
import Holdfast

/// Everything that the screen hears of, in one sequence: it sleeps until something comes.
final class ScreenFeed {
  let events: AsyncStream<ScreenEvent>
  private let tell: AsyncStream<ScreenEvent>.Continuation
  private let store: Store
  private var sources: [any DispatchSourceProtocol] = []
  private var tasks: [Task<Void, Never>] = []
  private var items: Task<Void, Never>?
  private var escape: Task<Void, Never>?

  init(_ store: Store) {
    self.store = store
    (events, tell) = AsyncStream.makeStream()
  }

  deinit {
    for source in sources { source.cancel() }
    for task in tasks + [items, escape].compactMap({ $0 }) { task.cancel() }
  }

  /// Hears the keys and the signals of the terminal.
  func followTerminal() {
    let tell = tell
    let signals: [(RawTerminal.Signal, ScreenEvent)] = [
      (.resize, .resized), (.stop, .stopped), (.goOn, .continued), (.close, .ended),
    ]
    sources = signals.map { signal, event in RawTerminal.hear(signal) { tell.yield(event) } }
    sources.append(
      RawTerminal.readKeys {
        tell.yield(.typed($0))
      } end: {
        tell.yield(.ended)
      })
    let interruptions = Interruption.take()
    tasks.append(Task { for await _ in interruptions { tell.yield(.ended) } })
  }

  /// Hears the results of the live queries, and the status of the engine.
  func followStore(_ engine: SyncEngine?) {
    let (tell, store) = (tell, store)
    follow(store.live(ListLine.self, SQL(unsafe: ListLine.query))) { .lists($0) }
    follow(store.liveQuarantine()) { .quarantine($0) }
    tasks.append(
      Task {
        do {
          for try await _ in store.liveConflicts() {
            tell.yield(.conflicts(try await store.shownConflicts()))
          }
        } catch { tell.yield(.failed(error)) }
      })
    guard let engine else { return }
    tasks.append(Task { for await status in engine.statuses { tell.yield(.status(status)) } })
    tasks.append(Task { await engine.run() })
  }

  /// Hears the items of a list, and no more those of another.
  func followItems(of list: String?) {
    items?.cancel()
    guard let list else { return }
    items = task(store.live(Readable<Item>.self, Item.ofList, [.text(list)])) { .items($0, list: list) }
  }

  /// Says when an Escape has been alone for long enough: the bytes of a key come together.
  func awaitEscape() {
    let tell = tell
    escape?.cancel()
    escape = Task {
      guard (try? await Task.sleep(for: .milliseconds(50))) != nil else { return }
      tell.yield(.escapeWaited)
    }
  }

  /// Syncs beside what the screen does, and says what came of it.
  func sync(_ syncing: Syncing) {
    let tell = tell
    tasks.append(
      Task {
        do { tell.yield(.said(try await syncing.sync().sentence)) } catch {
          tell.yield(.said(Failure(error).message))
        }
      })
  }

  private func follow<Value: Sendable>(
    _ values: AsyncThrowingStream<Value, any Error>, _ event: @escaping @Sendable (Value) -> ScreenEvent
  ) {
    tasks.append(task(values, event))
  }

  private func task<Value: Sendable>(
    _ values: AsyncThrowingStream<Value, any Error>, _ event: @escaping @Sendable (Value) -> ScreenEvent
  ) -> Task<Void, Never> {
    Task { [tell] in
      do { for try await value in values { tell.yield(event(value)) } } catch { tell.yield(.failed(error)) }
    }
  }
}
