import HoldfastConcurrency
import HoldfastPostgres
import HoldfastService
import Synchronization

/// Listens on its own connection to changes by other servers and by plain SQL.
///
/// Notifications that are sent while the connection is lost are lost. `interrupted` reports the loss, and `resumed` reports a new
/// connection.
///
/// @unchecked Sendable: `thread` is set before another thread has the object, and only its owner reads it.
final class PostgresListener: NotificationListener, @unchecked Sendable {
  /// How long the connection may be silent before it is tested.
  private static let check = Duration.seconds(10)
  /// The pause after a failure.
  private static let pause = Duration.seconds(1)

  private let location: PostgresLocation
  private let watch: PostgresHistoryWatch
  private let node: String
  private let mayLead: Bool
  private let receive: @Sendable (Notification) -> Void
  private let waker: PostgresWaker
  private let isStopping = Atomic<Bool>(false)
  private let lock = Lock()
  private var thread: SystemThread?

  init(
    _ location: PostgresLocation, _ watch: PostgresHistoryWatch, node: String, mayLead: Bool,
    _ receive: @escaping @Sendable (Notification) -> Void
  ) throws {
    self.location = location
    self.watch = watch
    self.node = node
    self.mayLead = mayLead
    self.receive = receive
    waker = try PostgresWaker()
    receive(.interrupted)
    thread = try startThread { [unowned self] in run() }
  }

  func stop() {
    lock.hold {
      isStopping.store(true, ordering: .releasing)
      lock.broadcast()
    }
    waker.wake()
    thread?.join()
    thread = nil
  }

  private func run() {
    while !isStopping.load(ordering: .acquiring) {
      do { try listen() } catch { receive(.interrupted) }
      lock.hold {
        let end = MonotonicTime.exact + Self.pause
        while !isStopping.load(ordering: .acquiring), MonotonicTime.exact < end { lock.wait(until: end) }
      }
    }
  }

  private func listen() throws(PostgresError) {
    let connection = try location.connectDirectly(.listens)
    defer { connection.close() }
    // A pooler hides from the other connections that the database was replaced.
    try watch.check(connection)
    try connection.listen("holdfast")
    receive(.resumed)
    var leads = false
    while !isStopping.load(ordering: .acquiring) {
      if mayLead, !leads {
        // The lock is held for the lifetime of the connection.
        leads = try PostgresLock.leading.take(over: connection)
        if leads { receive(.leads) }
      }
      let notifications = try connection.notifications(timeout: Self.check, waker: waker)
      if notifications.isEmpty { try connection.execute("") }
      for notification in notifications where !notification.payload.utf8.starts(with: node.utf8) {
        guard let changes = ZoneChanges(payload: notification.payload) else {
          receive(.interrupted)
          receive(.resumed)
          if leads { receive(.leads) }
          continue
        }
        receive(.changes(changes))
      }
    }
  }
}
