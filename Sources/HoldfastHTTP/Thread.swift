import Glibc

/// A thread that runs one closure and is joined by its owner.
package struct Thread: Sendable {
  let thread: pthread_t

  /// Starts `body`; nil if the system has no thread left.
  package init?(_ body: @escaping @Sendable () -> Void) {
    let box = Unmanaged.passRetained(Body(body))
    var thread = pthread_t()
    guard pthread_create(&thread, nil, runBody, box.toOpaque()) == 0 else {
      box.release()
      return nil
    }
    self.thread = thread
  }

  /// Waits for the end of the closure; once.
  package func join() {
    pthread_join(thread, nil)
  }
}

extension Thread {
  /// Lets it end by itself, unheeded.
  func detach() { pthread_detach(thread) }
}

private final class Body: Sendable {
  let run: @Sendable () -> Void

  init(_ run: @escaping @Sendable () -> Void) {
    self.run = run
  }
}

private func runBody(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  if let context { Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run() }
  return nil
}
