import HoldfastConcurrency
internal import CSockets
import Glibc
import Synchronization

/// One of the HTTP threads: waits for the sockets of its connections, and runs those that have something to do.
///
/// @unchecked Sendable: `inbox` is touched only under `lock`; the variables behind them only by the thread itself.
final class EventLoop: @unchecked Sendable {
  /// What other threads tell the loop.
  enum Word: Sendable {
    /// The server stops: what is idle is closed, what was begun is finished.
    case stop
    /// The time of grace is over: what the application still owes is answered 503.
    case expire
    /// Everything is closed, and the thread ends.
    case end
  }

  private enum Message {
    case add(Int32, SocketAddress)
    case wake(HTTPConnection)
    case word(Word)
  }

  private let core: ServerCore
  private let poll: Int32
  private let bell: Int32
  private let lock = Lock()
  private var inbox: [Message] = []
  private let isHandlingNow = Atomic<Bool>(false)

  /// Where what is read first goes.
  let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
  /// The field `Date` of this second.
  private(set) var date = ""
  private var second: time_t = 0
  private var connections: [Int32: HTTPConnection] = [:]
  private var later: [HTTPConnection] = []
  private var isEnding = false

  /// Makes a loop without a thread; nil when the system has no descriptors for it.
  init?(_ core: ServerCore) {
    self.core = core
    poll = epoll_create1(Int32(EPOLL_CLOEXEC))
    bell = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
    var event = epoll_event(events: EPOLLIN.rawValue, data: epoll_data_t(fd: bell))
    if poll < 0 || bell < 0 || epoll_ctl(poll, EPOLL_CTL_ADD, bell, &event) < 0 { return nil }
  }

  deinit {
    for descriptor in [poll, bell] where descriptor >= 0 { close(descriptor) }
    scratch.deallocate()
  }

  // MARK: Any thread

  /// Takes over a connection that was admitted.
  func add(_ descriptor: Int32, _ peer: SocketAddress) { post(.add(descriptor, peer)) }

  /// Has a connection take its answer.
  func wake(_ connection: HTTPConnection) { post(.wake(connection)) }

  func tell(_ word: Word) { post(.word(word)) }

  /// Whether the owner's code has the thread.
  var isHandling: Bool { isHandlingNow.load(ordering: .acquiring) }

  private func post(_ message: Message) {
    let isFirst = lock.hold {
      inbox.append(message)
      return inbox.count == 1
    }
    if isFirst { eventfd_write(bell, 1) }
  }

  // MARK: Its thread

  /// Runs until it is told to end.
  func run() {
    var events = [epoll_event](repeating: epoll_event(), count: 256)
    let interval = core.limits.sweepInterval
    var nextSweep = MonotonicTime.now + interval
    while !isEnding {
      refreshDate()
      let pause =
        later.isEmpty
        ? nextSweep.milliseconds - min(MonotonicTime.now.milliseconds, nextSweep.milliseconds) : 0
      let count = epoll_wait(poll, &events, Int32(events.count), Int32(clamping: pause))
      for event in events.prefix(Int(max(count, 0))) {
        if event.data.fd == bell {
          var value: eventfd_t = 0
          eventfd_read(bell, &value)
        } else {
          connections[event.data.fd]?.notice(event.events)
        }
      }
      for message in lock.hold({ takeInbox() }) { take(message) }
      let waiting = later
      later = []
      for connection in waiting { connection.run() }
      if MonotonicTime.now >= nextSweep {
        sweep()
        nextSweep = .now + interval
      }
    }
    for connection in connections.values { connection.close() }
  }

  /// Runs the owner's code, which must not block.
  func handling<Value>(_ body: () -> Value) -> Value {
    isHandlingNow.store(true, ordering: .releasing)
    defer { isHandlingNow.store(false, ordering: .releasing) }
    return body()
  }

  /// Has a connection go on when others had their turn.
  func runLater(_ connection: HTTPConnection) { later.append(connection) }

  /// Purges a connection that is about to be closed.
  func remove(_ connection: HTTPConnection) { connections[connection.descriptor] = nil }

  private func takeInbox() -> [Message] {
    defer { inbox = [] }
    return inbox
  }

  private func take(_ message: Message) {
    switch message {
    case .add(let descriptor, let peer): begin(descriptor, peer)
    case .wake(let connection): connection.wake()
    case .word(.stop): for connection in connections.values { connection.stop() }
    case .word(.expire): for connection in connections.values { connection.exchange?.answer(.failure(503)) }
    case .word(.end): isEnding = true
    }
  }

  private func begin(_ descriptor: Int32, _ peer: SocketAddress) {
    var event = epoll_event(
      events: EPOLLIN.rawValue | EPOLLOUT.rawValue | EPOLLRDHUP.rawValue | EPOLLET.rawValue,
      data: epoll_data_t(fd: descriptor))
    guard let connection = HTTPConnection(descriptor, peer, core, self),
      epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &event) == 0
    else {
      close(descriptor)
      return core.connections.leave(peer)
    }
    connections[descriptor] = connection
    if core.isStopping { connection.stop() } else { connection.run() }
  }

  private func sweep() {
    let now = MonotonicTime.now
    for connection in connections.values {
      if let deadline = connection.deadline, deadline < now { connection.expire() }
    }
  }

  private func refreshDate() {
    let now = time(nil)
    if now != second { (second, date) = (now, dateField(of: now)) }
  }
}
