internal import CMicroHTTPD

/// What a request is answered with, before it is made into bytes.
enum Answer: Sendable {
  case response(HTTPResponse)
  case make(@Sendable () -> HTTPResponse)
  /// An answer of this layer itself.
  case failure(Int)
}

/// The meeting of the HTTP thread, which has a request to answer, and of whoever has the answer.
///
/// @unchecked Sendable: `state` is touched only under `lock`. `handle` is given to libmicrohttpd only while the state
/// is `open`, by the HTTP thread that has the connection in its hands, or `waiting`, when libmicrohttpd keeps the
/// connection until it is resumed; after that never again.
final class Exchange: @unchecked Sendable {
  private enum State {
    case open
    case waiting
    case answered(Answer)
    case sent
  }

  private let core: ServerCore
  private let lock: Lock
  private let handle: OpaquePointer
  private var state = State.open

  init(core: ServerCore, lock: Lock, handle: OpaquePointer) {
    self.core = core
    self.lock = lock
    self.handle = handle
  }

  /// Gives the answer and wakes the connection if it waits for it. Any thread; false if there is an answer already.
  @discardableResult
  func answer(_ answer: Answer) -> Bool {
    lock.hold {
      switch state {
      case .open:
        state = .answered(answer)
        return true
      case .waiting:
        state = .answered(answer)
        MHD_resume_connection(handle)
        return true
      case .answered, .sent:
        return false
      }
    }
  }

  /// Takes the answer; without one, parks the connection until it comes and returns nil. Only the HTTP thread calls
  /// this. The lock makes it one step: an answer comes either before it, and is taken, or after it, and resumes.
  func takeOrWait(willWait: () -> Void) -> Answer? {
    lock.hold {
      switch state {
      case .answered(let answer):
        state = .sent
        return answer
      case .open where core.isExpired:
        state = .sent
        return .failure(503)
      case .open:
        willWait()
        MHD_suspend_connection(handle)
        state = .waiting
        return nil
      case .waiting:
        return nil
      case .sent:
        return .failure(500)
      }
    }
  }
}
