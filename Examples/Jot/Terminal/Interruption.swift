import Foundation
import Synchronization

/// Ctrl-C, and the end that a service manager sends: the database is closed first, so that its file is whole.
enum Interruption {
  /// What is to be done in place of that; and whether the program is about to end.
  private static let state = Mutex<(taken: AsyncStream<Void>.Continuation?, isEnding: Bool)>((nil, false))

  /// From now on the signals are heard, as long as what this gives is held.
  static func begin() -> [any DispatchSourceSignal] {
    [SIGINT, SIGTERM].map { number in
      // The default action would end the process at once.
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number)
      source.setEventHandler { happened(number) }
      source.resume()
      return source
    }
  }

  /// Waits for one, which then does not end the program.
  static func wait() async {
    for await _ in take() { break }
    release()
  }

  /// From now on each is an element of a sequence, and does not end the program.
  static func take() -> AsyncStream<Void> {
    let (signals, signal) = AsyncStream.makeStream(of: Void.self)
    state.withLock { $0.taken = signal }
    return signals
  }

  /// From now on each ends the program again.
  static func release() { state.withLock { $0.taken = nil } }

  private static func happened(_ number: Int32) {
    let (taken, isSecond) = state.withLock { state in
      defer { if state.taken == nil { state.isEnding = true } }
      return (state.taken, state.isEnding)
    }
    if let taken {
      taken.yield()
    } else if isSecond {
      _exit(128 + number)
    } else {
      Task {
        await Notebook.close()
        exit(128 + number)
      }
    }
  }
}
