import HoldfastConcurrency
internal import CSockets
import Glibc
import Synchronization

/// An HTTP thread: waits for the sockets of its connections, and runs those that are ready.
///
/// @unchecked Sendable: `inbox` is accessed only with `lock` held; the variables after it only by the thread.
final class EventLoop: @unchecked Sendable {
  /// A command of another thread.
  enum Word: Sendable {
    /// The server is stopping: close idle connections, finish begun requests.
    case stop
    /// The grace period has ended: stop to wait for answers.
    case expire
    /// All connections are closed: end the thread.
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

  /// The buffer for bytes read from sockets.
  let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
  /// The `Date` field of the current second.
  private(set) var date = ""
  private var second: time_t = 0
  private var connections: [Int32: HTTPConnection] = [:]
  private var later: [HTTPConnection] = []
  private var isEnding = false

  /// Creates a loop without a thread; nil if the system has no descriptors for it.
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

  /// Takes over an admitted connection.
  func add(_ descriptor: Int32, _ peer: SocketAddress) { post(.add(descriptor, peer)) }

  /// Makes a connection fetch its answer.
  func wake(_ connection: HTTPConnection) { post(.wake(connection)) }

  func tell(_ word: Word) { post(.word(word)) }

  /// Whether a handler is running on the thread.
  var isHandling: Bool { isHandlingNow.load(ordering: .acquiring) }

  private func post(_ message: Message) {
    let isFirst = lock.hold {
      inbox.append(message)
      return inbox.count == 1
    }
    if isFirst { eventfd_write(bell, 1) }
  }

  // MARK: Its thread

  /// Runs until the command `end`.
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

  /// Runs code of the server's owner, which must not block.
  func handling<Value>(_ body: () -> Value) -> Value {
    isHandlingNow.store(true, ordering: .releasing)
    defer { isHandlingNow.store(false, ordering: .releasing) }
    return body()
  }

  /// Schedules a connection to continue after others had their turn.
  func runLater(_ connection: HTTPConnection) { later.append(connection) }

  /// Removes a connection that is about to be closed.
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
    case .word(.expire): for connection in connections.values { connection.exchange?.answer(.expired) }
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
