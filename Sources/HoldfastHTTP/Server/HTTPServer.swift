import HoldfastConcurrency
import Glibc
import Synchronization

/// An HTTP/1.1 server: sockets, parsing, limits and the ways to answer, nothing else.
///
/// The handler runs on one of the HTTP threads and must not block there: what has to wait is given to another
/// thread together with the responder. It must not call `stop(grace:)`.
public final class HTTPServer: Sendable {
  /// The port that the server listens on, also when the system was asked to choose.
  public let port: UInt16

  /// How many connections are open. Any thread.
  public var connections: Int { core.connections.current }

  private let core: ServerCore
  private let listener: Listener
  private let acceptThread: SystemThread
  private let loops: [EventLoop]
  private let loopThreads: [SystemThread]
  private let isStopped = Atomic<Bool>(false)

  /// Starts a server: when this returns, it accepts connections.
  ///
  /// From here on SIGPIPE is ignored in the whole process: a peer that goes away is an error, not the end.
  ///
  /// - Parameters:
  ///   - address: the IP address to listen on, IPv4 or IPv6; no names. `::` takes both kinds. Default 127.0.0.1.
  ///   - port: the port; 0, the default, is any free one.
  ///   - threads: how many threads read, handle and write, at least 1. Default: one for each processor.
  ///   - limits: what one client may cost.
  ///   - certificate: what the server presents; it then speaks TLS 1.2 and 1.3 alone. Without TLS unless given.
  ///   - failure: makes the answers that the server gives itself. Called on any of its threads.
  ///   - log: takes what an operator should know, a line at a time; called on any of its threads.
  ///   - admission: takes the head of each request that has a content, and decides whether that is read; nil, the default, reads all. It runs where
  ///     the handler does.
  ///   - handler: takes each complete request with the duty to answer it.
  /// - Throws: `HTTPServerError`, if the address is none or is taken, or if the system has no threads or descriptors.
  public init(
    address: String = "127.0.0.1", port: UInt16 = 0, threads: Int? = nil,
    limits: HTTPLimits = HTTPLimits(), certificate: TLSCertificate? = nil,
    failure: @escaping @Sendable (HTTPFailure) -> HTTPResponse = { HTTPResponse.plain(status: $0.status) },
    log: @escaping @Sendable (String) -> Void = { _ in },
    admission: (@Sendable (HTTPRequest, HTTPAdmission) -> Void)? = nil,
    handler: @escaping @Sendable (HTTPRequest, HTTPResponder) -> Void
  ) throws(HTTPServerError) {
    signal(SIGPIPE, SIG_IGN)
    let core = ServerCore(
      limits: limits, certificate: certificate, handler: handler, admission: admission, failure: failure,
      log: log)
    let listener = try Listener(address: address, port: port)
    let count = max(threads ?? sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1)
    let loops = (0..<count).compactMap { _ in EventLoop(core) }
    let loopThreads = loops.compactMap { loop in SystemThread { loop.run() } }
    let isDecoding = core.decoder.start()
    let acceptThread =
      loopThreads.count == count && isDecoding ? SystemThread { listener.run(core, loops: loops) } : nil
    guard let acceptThread else {
      listener.closeSockets()
      for loop in loops { loop.tell(.end) }
      for thread in loopThreads { thread.join() }
      core.decoder.stop()
      throw HTTPServerError(.outOfResources, "no threads or descriptors to be had")
    }
    self.core = core
    self.listener = listener
    self.acceptThread = acceptThread
    self.loops = loops
    self.loopThreads = loopThreads
    self.port = listener.port
  }

  deinit {
    stop(grace: .zero)
  }

  /// Presents another certificate to the clients that connect from now on. Any thread; without TLS it does nothing.
  public func present(_ certificate: TLSCertificate) {
    if core.isSecure { core.present(certificate) }
  }

  /// Stops the server and returns when it is stopped. The port is given back at once; idle connections and streams are closed;
  /// requests in flight are finished, each with the end of its connection. What is not finished after `grace` is
  /// answered 503 where the application owes the answer, and cut where the client does.
  ///
  /// Takes at most `grace` and half a second. Only a handler that blocks its thread is left behind, with its threads,
  /// and logged. A second call does nothing.
  ///
  /// - Parameter grace: how long requests in flight may take; zero or more.
  public func stop(grace: Duration) {
    guard !isStopped.exchange(true, ordering: .acquiringAndReleasing) else { return }
    core.stop()
    listener.stop()
    acceptThread.join()
    listener.closeSockets()
    for loop in loops { loop.tell(.stop) }
    core.connections.waitUntilEmpty(until: .now + grace)
    if !core.connections.isEmpty {
      core.expire()
      for loop in loops { loop.tell(.expire) }
      core.connections.waitUntilEmpty(until: .now + .milliseconds(500))
    }
    for loop in loops { loop.tell(.end) }
    core.decoder.stop()
    for (loop, thread) in zip(loops, loopThreads) {
      if loop.isHandling {
        core.log("a handler blocks its HTTP thread: left behind at the stop of the server")
        thread.detach()
      } else {
        thread.join()
      }
    }
  }
}
