import Dispatch
import HoldfastSystem

#if canImport(Network)
  import Network
#endif

/// Tells when the network comes and goes.
///
/// ```swift
/// struct Always: NetworkMonitor {
///   var changes: AsyncStream<Bool> { AsyncStream { $0.yield(true) } }
/// }
/// let engine = SyncEngine(store: store, transport: HTTPTransport(server: server), network: Always())
/// ```
public protocol NetworkMonitor: Sendable {
  /// Whether there is a network: now, and after each change, also from one network to another. It ends when nobody reads it any more.
  var changes: AsyncStream<Bool> { get }
}

/// The network as the system sees it: `NWPathMonitor` on Apple's platforms, netlink on Linux. Elsewhere it says nothing.
///
/// ```swift
/// for await isThere in SystemNetworkMonitor().changes { print(isThere ? "online" : "offline") }
/// ```
public struct SystemNetworkMonitor: NetworkMonitor {
  /// The monitor.
  public init() {}

  /// See `NetworkMonitor`.
  public var changes: AsyncStream<Bool> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      #if canImport(Network)
        let monitor = NWPathMonitor()
        monitor.pathUpdateHandler = { continuation.yield($0.status == .satisfied) }
        continuation.onTermination = { _ in monitor.cancel() }
        monitor.start(queue: DispatchQueue(label: "holdfast.network"))
      #elseif os(Linux) || os(Android)
        guard let notifier = NetworkNotifier() else { return }
        let source = DispatchSource.makeReadSource(
          fileDescriptor: notifier.descriptor, queue: DispatchQueue(label: "holdfast.network"))
        let addresses = Locked(NetworkNotifier.addresses())
        continuation.yield(addresses.withLock { !$0.isEmpty })
        source.setEventHandler {
          notifier.drain()
          let now = NetworkNotifier.addresses()
          let isNew = addresses.withLock { known in
            defer { known = now }
            return known != now
          }
          if isNew { continuation.yield(!now.isEmpty) }
        }
        source.setCancelHandler { notifier.close() }
        source.activate()
        let running = Locked(source)
        continuation.onTermination = { _ in running.withLock { $0.cancel() } }
      #endif
    }
  }
}
