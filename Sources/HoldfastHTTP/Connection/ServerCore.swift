import HoldfastConcurrency
import HoldfastSystem
import Synchronization

/// The state shared by all connections of a server.
final class ServerCore: Sendable {
  let limits: HTTPLimits
  let handler: @Sendable (HTTPRequest, HTTPResponder) -> Void
  let admission: (@Sendable (HTTPRequest, HTTPAdmission) -> Void)?
  let failure: @Sendable (HTTPFailure) -> HTTPResponse
  let log: @Sendable (String) -> Void
  let connections: ConnectionCount
  let answers: ByteRoom
  /// Memory for the bodies of requests.
  let contents: ByteRoom
  let coder: Coder
  let requestDeadline: Milliseconds
  let idleTimeout: Milliseconds
  let responseDeadline: Milliseconds
  let lingering: Milliseconds
  /// Whether connections use TLS.
  let isSecure: Bool
  private let certificates: Locked<TLSCertificate?>
  private let stopping = Atomic<Bool>(false)
  private let expired = Atomic<Bool>(false)

  init(
    limits: HTTPLimits, threads: Int, certificate: TLSCertificate?,
    handler: @escaping @Sendable (HTTPRequest, HTTPResponder) -> Void,
    admission: (@Sendable (HTTPRequest, HTTPAdmission) -> Void)?,
    failure: @escaping @Sendable (HTTPFailure) -> HTTPResponse, log: @escaping @Sendable (String) -> Void
  ) {
    self.limits = limits
    // At least two, so that one client leaves a thread to others.
    coder = Coder(threads: min(max(threads, 2), 4))
    isSecure = certificate != nil
    certificates = Locked(certificate)
    self.handler = handler
    self.admission = admission
    self.failure = failure
    self.log = log
    requestDeadline = Milliseconds(limits.requestDeadline)
    idleTimeout = Milliseconds(limits.idleTimeout)
    responseDeadline = Milliseconds(limits.responseDeadline)
    lingering = Milliseconds(limits.lingering)
    connections = ConnectionCount(limits: limits)
    answers = ByteRoom(limit: limits.maximumAnswerBytes, shareLimit: limits.maximumAnswerBytesPerPayer)
    contents = ByteRoom(
      limit: limits.maximumBufferedBytes,
      shareLimit: max(limits.maximumBufferedBytesPerPayer, limits.maximumBodyBytes))
  }

  /// The certificate for new TLS connections; nil without TLS.
  var certificate: TLSCertificate? { certificates.withLock { $0 } }

  /// Sets the certificate for new connections.
  func present(_ certificate: TLSCertificate) { certificates.withLock { $0 = certificate } }

  /// Whether the server is stopping: it accepts no connections, and every answer closes its connection.
  var isStopping: Bool { stopping.load(ordering: .acquiring) }

  /// Whether the grace period has ended: unanswered requests get a 503, or their connection is cut.
  var isExpired: Bool { expired.load(ordering: .acquiring) }

  func stop() { stopping.store(true, ordering: .releasing) }

  func expire() { expired.store(true, ordering: .releasing) }
}

private let requestCount = Atomic<UInt64>(0)

/// The next request's number.
func nextRequestID() -> UInt64 {
  requestCount.wrappingAdd(1, ordering: .relaxed).newValue
}
