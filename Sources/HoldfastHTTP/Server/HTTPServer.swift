import HoldfastConcurrency
import Glibc
import Synchronization

/// An HTTP/1.1 server: sockets, parsing, limits and answers.
///
/// The handler runs on an HTTP thread and must not block there. To wait, pass the responder to another thread. The handler must not call
/// `stop(grace:)`.
public final class HTTPServer: Sendable {
  /// The port that the server listens on, including one that the system selected.
  public let port: UInt16

  /// How many connections are open. Any thread.
  public var connections: Int { core.connections.current }

  /// How many large contents and answers wait to be decoded or compressed. Any thread.
  public var waitingCodings: Int { core.coder.waitingCount }

  let core: ServerCore
  private let listener: HTTPListener
  private let acceptThread: SystemThread
  private let loops: [EventLoop]
  private let loopThreads: [SystemThread]
  private let isStopped = Atomic<Bool>(false)

  /// Starts a server. When this returns, it accepts connections.
  ///
  /// From then on, SIGPIPE is ignored in the whole process, so that a disconnected peer is an error.
  ///
  /// - Parameters:
  ///   - listener: where to listen, of this server alone; the default is a free port of 127.0.0.1.
  ///   - threads: the number of threads that read, handle and write, at least 1. Default: one per processor.
  ///   - limits: the limits of clients.
  ///   - certificate: the server's certificate. It enables TLS 1.2 and 1.3, and disables plain HTTP. Default: plain HTTP.
  ///   - failure: creates the answers of the HTTP layer itself. Called on any of its threads.
  ///   - log: receives messages for an operator, one line each; called on any of its threads.
  ///   - admission: receives the head of each request with a body, and decides whether to read it; the default nil reads all. It runs on
  ///     the same threads as the handler.
  ///   - handler: receives each complete request, with the obligation to answer it.
  /// - Throws: `HTTPServerError` if the address is invalid or in use, or the system has no threads or descriptors.
  public init(
    on listener: HTTPListener? = nil, threads: Int? = nil,
    limits: HTTPLimits = HTTPLimits(), certificate: TLSCertificate? = nil,
    failure: @escaping @Sendable (HTTPFailure) -> HTTPResponse = { HTTPResponse.plain(status: $0.status) },
    log: @escaping @Sendable (String) -> Void = { _ in },
    admission: (@Sendable (HTTPRequest, HTTPAdmission) -> Void)? = nil,
    handler: @escaping @Sendable (HTTPRequest, HTTPResponder) -> Void
  ) throws(HTTPServerError) {
    signal(SIGPIPE, SIG_IGN)
    let count = max(threads ?? sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1)
    let core = ServerCore(
      limits: limits, threads: count, certificate: certificate, handler: handler, admission: admission,
      failure: failure,
      log: log)
    let listener = if let listener { listener } else { try HTTPListener() }
    try listener.listen()
    let loops = (0..<count).compactMap { _ in EventLoop(core) }
    let loopThreads = loops.compactMap { loop in SystemThread { loop.run() } }
    let isCoding = core.coder.start()
    let acceptThread =
      loopThreads.count == count && isCoding ? SystemThread { listener.run(core, loops: loops) } : nil
    guard let acceptThread else {
      listener.close()
      for loop in loops { loop.tell(.end) }
      for thread in loopThreads { thread.join() }
      core.coder.stop()
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

  /// Sets the certificate for new connections. Callable from any thread; does nothing without TLS.
  public func present(_ certificate: TLSCertificate) {
    if core.isSecure { core.present(certificate) }
  }

  /// Stops the server, and returns when it has stopped. The port is released immediately; idle connections and streams are closed. Requests
  /// in flight are finished, each with the end of its connection. After `grace`, a GET, HEAD or OPTIONS that lacks its answer gets a 503.
  /// Other requests that lack it are cut, as a 503 would say that nothing happened. So is a client that has not read its answer.
  ///
  /// It takes at most `grace` and half a second. A handler that blocks its thread is abandoned with that thread, and logged. A second call
  /// does nothing.
  ///
  /// - Parameter grace: the time limit for requests in flight; zero or more.
  public func stop(grace: Duration) {
    guard !isStopped.exchange(true, ordering: .acquiringAndReleasing) else { return }
    listener.stop()
    acceptThread.join()
    listener.close()
    // From here on the threads of connections see the stop: by the first connection that they close, the port is free.
    core.stop()
    for loop in loops { loop.tell(.stop) }
    core.connections.waitUntilEmpty(until: .now + grace)
    if !core.connections.isEmpty {
      core.expire()
      for loop in loops { loop.tell(.expire) }
      core.connections.waitUntilEmpty(until: .now + .milliseconds(500))
    }
    for loop in loops { loop.tell(.end) }
    core.coder.stop()
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
