public import Foundation
import HoldfastCore

#if os(Linux) && !HOLDFAST_STANDINS
  import HoldfastCurl
#elseif canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// HTTP to a server: libcurl on Linux, URLSession elsewhere.
///
/// No redirect is followed on Linux. There the environment's `SSL_CERT_FILE` names the authorities to trust in place of the system's.
///
/// ```swift
/// let engine = SyncEngine(store: store, transport: HTTPTransport(server: server, idleTimeout: .seconds(10)))
/// ```
public final class HTTPTransport: EventTransport {
  private let server: URL
  #if os(Linux) && !HOLDFAST_STANDINS
    private let client: HTTPClient
    private let eventClient: HTTPClient
  #else
    private let session: URLSession
    private let eventDelegate = EventSessionDelegate()
    /// Of its own, so that a stream takes no connection from the requests.
    private let eventSession: URLSession
  #endif

  /// The header fields that a snapshot needs.
  private static let fieldNames = ["etag", "content-range", "repr-digest"]

  /// A transport to a server.
  ///
  /// - Parameters:
  ///   - server: its address, such as `https://sync.example.org`.
  ///   - idleTimeout: how long nothing may arrive before a request counts as failed; 30 seconds unless given. There is a second more for each 4 KiB
  ///     of the request.
  public init(server: URL, idleTimeout: Duration = .seconds(30)) {
    self.server = server
    #if os(Linux) && !HOLDFAST_STANDINS
      client = HTTPClient(HTTPClientLimits(idleTimeout: idleTimeout))
      // The reader of a stream knows how long it may be silent and how much it may bring.
      eventClient = HTTPClient(HTTPClientLimits(idleTimeout: nil, totalTimeout: nil, bodyLimit: .max))
    #else
      let configuration = URLSessionConfiguration.ephemeral
      configuration.timeoutIntervalForRequest = Double(idleTimeout.components.seconds)
      configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
      configuration.httpShouldSetCookies = false
      session = URLSession(configuration: configuration)
      configuration.timeoutIntervalForRequest = 3600
      eventSession = URLSession(configuration: configuration, delegate: eventDelegate, delegateQueue: nil)
    #endif
  }

  /// Sends a request; see `Transport`.
  ///
  /// - Throws: when no whole answer came; `URLError` where URLSession is used.
  public func send(_ request: TransportRequest) async throws -> TransportAnswer {
    var fields = request.headers.map { (name: $0.key, value: $0.value) }
    if let token = request.token { fields.append(("Authorization", "Bearer \(token)")) }
    if request.body != nil { fields.append(("Content-Type", "application/json")) }
    let address = address(request.path)
    #if os(Linux) && !HOLDFAST_STANDINS
      let answer = try await client.send(
        HTTPClientRequest(
          method: request.method, url: address, headers: fields, body: request.body))
      return TransportAnswer(
        status: answer.head.status, retryAfter: answer.head.retryAfter, body: answer.body,
        headers: answer.head.headers.filter { Self.fieldNames.contains($0.key) })
    #else
      var message = URLRequest(url: try url(address))
      message.httpMethod = request.method
      for (name, value) in fields { message.setValue(value, forHTTPHeaderField: name) }
      message.httpBody = request.body.map { Data($0) }
      message.timeoutInterval =
        session.configuration.timeoutIntervalForRequest + Double((request.body?.count ?? 0) / 4096)
      let (data, response) = try await session.data(for: message)
      guard let answer = response as? HTTPURLResponse else {
        throw StoreError(.offline, "The server's answer was no HTTP.")
      }
      return TransportAnswer(
        status: answer.statusCode,
        retryAfter: answer.value(forHTTPHeaderField: "Retry-After").flatMap { Int($0) },
        body: [UInt8](data),
        headers: TextMap(
          Self.fieldNames.compactMap { name in
            answer.value(forHTTPHeaderField: name).map { (name, $0) }
          }))
    #endif
  }

  /// Opens the stream of events; see `EventTransport`.
  public func events(token: String, lastEventID: String?) -> AsyncThrowingStream<[UInt8], any Error> {
    var fields = [(name: "Authorization", value: "Bearer \(token)"), ("Accept", "text/event-stream")]
    if let lastEventID { fields.append(("Last-Event-ID", lastEventID)) }
    let address = address("v1/events")
    #if os(Linux) && !HOLDFAST_STANDINS
      return eventClient.stream(HTTPClientRequest(url: address, headers: fields)) {
        [eventClient] head in
        // The client is there as long as somebody reads.
        _ = eventClient
        let isStream = head.headers["content-type"]?.hasPrefix("text/event-stream") == true
        return head.status == 200 && isStream
          ? nil : EventStreamRefusal(status: head.status, retryAfter: head.retryAfter)
      }
    #else
      guard let url = try? url(address) else {
        return AsyncThrowingStream { $0.finish(throwing: URLError(.badURL)) }
      }
      var message = URLRequest(url: url)
      for (name, value) in fields { message.setValue(value, forHTTPHeaderField: name) }
      return eventDelegate.start(eventSession.dataTask(with: message))
    #endif
  }

  /// The address of a request: its target, as it stands, below the server's.
  private func address(_ target: String) -> String {
    let base = server.absoluteString
    return base + (base.hasSuffix("/") ? "" : "/") + target.drop { $0 == "/" }
  }

  #if !os(Linux) || HOLDFAST_STANDINS
    private func url(_ address: String) throws -> URL {
      guard let url = URL(string: address) else { throw URLError(.badURL) }
      return url
    }

    deinit {
      session.finishTasksAndInvalidate()
      eventSession.invalidateAndCancel()
    }
  #endif
}
