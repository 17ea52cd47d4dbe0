import HoldfastConcurrency

@testable import HoldfastHTTP

/// Hands values from the server's threads to the test, in order.
///
/// @unchecked Sendable: `values` is touched only under `lock`.
final class Mailbox<Value: Sendable>: @unchecked Sendable {
  private let lock = Lock()
  private var values: [Value] = []

  func put(_ value: Value) {
    lock.hold {
      values.append(value)
      lock.broadcast()
    }
  }

  /// The next value, waited for; nil if none comes within 30 seconds.
  func take() -> Value? {
    let deadline = MonotonicTime.now + .seconds(30)
    return lock.hold {
      while values.isEmpty && MonotonicTime.now < deadline { lock.wait(until: deadline) }
      return values.isEmpty ? nil : values.removeFirst()
    }
  }

  var count: Int { lock.hold { values.count } }
}

extension HTTPResponse {
  static func text(_ text: String, status: Int = 200) -> HTTPResponse {
    HTTPResponse(status: status, headers: [("Content-Type", "text/plain")], body: Array(text.utf8))
  }
}

extension SystemThread {
  /// Runs `body` on a thread that nobody joins; here if there is none to be had.
  static func detach(_ body: @escaping @Sendable () -> Void) {
    guard let started = SystemThread(body) else { return body() }
    started.detach()
  }
}
