import Dispatch
import HoldfastSystem

#if canImport(Darwin)
  /// Tells of each write to a file.
  final class FileWatch: Sendable {
    private let notifier: FileNotifier

    /// Begins to watch; nil when there is no such file.
    ///
    /// - Parameter tell: is called on a queue of its own; several writes may be told at once.
    init?(_ path: String, _ tell: @escaping @Sendable () -> Void) {
      guard let notifier = FileNotifier(path, on: DispatchQueue(label: "holdfast.files"), tell) else {
        return nil
      }
      self.notifier = notifier
    }

    func stop() { notifier.stop() }
  }
#elseif os(Linux) || os(Android)
  /// Tells of each write to a file.
  final class FileWatch: Sendable {
    private let number: Int32
    private let key: Int

    /// Begins to watch; nil when there is no such file, or the user watches too many.
    ///
    /// - Parameter tell: is called on a queue of its own; several writes may be told at once.
    init?(_ path: String, _ tell: @escaping @Sendable () -> Void) {
      guard let hub = FileWatchHub.shared, let (number, key) = hub.add(path, tell) else { return nil }
      (self.number, self.key) = (number, key)
    }

    func stop() { FileWatchHub.shared?.remove(number, key) }
  }

  /// All watches of the process. Two of one file have one number.
  private final class FileWatchHub: Sendable {
    static let shared = FileWatchHub()

    private struct State {
      var last = 0
      var watchers: [Int32: [Int: @Sendable () -> Void]] = [:]
    }
    private let notifier: FileNotifier
    private let source: Locked<any DispatchSourceRead>
    private let state = Locked(State())

    private init?() {
      guard let notifier = FileNotifier() else { return nil }
      self.notifier = notifier
      source = Locked(
        DispatchSource.makeReadSource(
          fileDescriptor: notifier.descriptor, queue: DispatchQueue(label: "holdfast.files")))
      source.withLock { source in
        source.setEventHandler { [weak self] in self?.read() }
        source.activate()
      }
    }

    func add(_ path: String, _ tell: @escaping @Sendable () -> Void) -> (Int32, Int)? {
      state.withLock { state in
        guard let number = notifier.watch(path) else { return nil }
        state.last += 1
        state.watchers[number, default: [:]][state.last] = tell
        return (number, state.last)
      }
    }

    func remove(_ number: Int32, _ key: Int) {
      state.withLock { state in
        guard state.watchers[number]?.removeValue(forKey: key) != nil else { return }
        if state.watchers[number]?.isEmpty == true {
          state.watchers[number] = nil
          notifier.stop(number)
        }
      }
    }

    private func read() {
      let events = notifier.events()
      let numbers = Set(events.map(\.number))
      let told = state.withLock { state in
        let told = numbers.flatMap { state.watchers[$0].map { Array($0.values) } ?? [] }
        for event in events where event.isOver { state.watchers[event.number] = nil }
        return told
      }
      for tell in told { tell() }
    }
  }
#else
  /// Nothing tells of writes here.
  final class FileWatch: Sendable {
    init?(_ path: String, _ tell: @escaping @Sendable () -> Void) { return nil }
    func stop() {}
  }
#endif
