#if canImport(Combine)
  public import Combine
#endif
public import Observation

/// Something that a view can watch: it says when it is read and when it changes.
///
/// With Observation where the system has it (macOS 14, iOS 17 and later); with Combine's `ObservableObject` on all of Apple's systems.
///
/// ```swift
/// let items = store.liveQuery(Item.order(by: \.position))  // a LiveObject
/// withObservationTracking { show(items.value) } onChange: { print("It changed.") }
/// ```
@MainActor
public class LiveObject {
  #if canImport(Combine)
    @Published private var revision = 0
  #else
    private var revision = 0
  #endif
  /// An `ObservationRegistrar` where there is one.
  private let registrar: (any Sendable)?

  init() {
    if #available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *) {
      registrar = ObservationRegistrar()
    } else {
      registrar = nil
    }
  }

  /// To be called by each property that is read.
  final func noteRead() {
    if #available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *) {
      (registrar as? ObservationRegistrar)?.access(self, keyPath: \.revision)
    }
  }

  /// Changes properties, and says so before and after.
  final func change(_ body: () -> Void) {
    if #available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *) {
      (registrar as? ObservationRegistrar)?.withMutation(of: self, keyPath: \.revision) {
        revision += 1
        body()
      }
    } else {
      revision += 1
      body()
    }
  }
}

@available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *)
extension LiveObject: @MainActor Observable {}

#if canImport(Combine)
  extension LiveObject: @MainActor ObservableObject {}
#endif

/// The result of a query that is always the present one, for a view to show.
///
/// The first result is there when this is made, so there is no empty first frame. After each commit that changes it, of this process or another, it is
/// read again and set on the main actor. Make it with `Store.liveQuery`; it ends when nobody holds it any more.
/// ```swift
/// let open = store.liveQuery(Item.where(\.done == false).order(by: \.title))
/// print(open.value.count)  // at once
/// ```
public final class LiveQuery<Value: Sendable>: LiveObject {
  private var current: Value
  private var failure: (any Error)?
  private var reading: LiveReading<Value>?
  private var task: Task<Void, Never>?

  /// The present result; when nothing could be read yet, the one that it was made with.
  public var value: Value {
    noteRead()
    return current
  }

  /// Why it is not read any more: the query is wrong, or a row is not of its type. `nil` as long as all is well.
  public var error: (any Error)? {
    noteRead()
    return failure
  }

  init(_ source: LiveSource<Value>, of store: any ReadableStore, fallback: Value) {
    let (values, continuation) = AsyncStream.makeStream(
      of: Result<Value, any Error>.self, bufferingPolicy: .bufferingNewest(1))
    let reading = LiveReading(source, of: store) { continuation.yield($0) }
    self.reading = reading
    current = fallback
    super.init()
    switch reading.startNow() {
    case .success(let first): current = first
    // It is read when the store is resumed.
    case .failure(let error as StoreError) where error.code == .suspended: break
    case .failure(let error):
      reading.stop()
      failure = error
    }
    task = Task { [weak self] in for await value in values { self?.set(value) } }
  }

  deinit {
    reading?.stop()
    task?.cancel()
  }

  private func set(_ result: Result<Value, any Error>) {
    change {
      switch result {
      case .success(let value): current = value
      case .failure(let error): failure = error
      }
    }
  }
}
