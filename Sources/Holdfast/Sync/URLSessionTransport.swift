public import Foundation
import HoldfastCore

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// HTTP by URLSession.
public final class URLSessionTransport: EventTransport {
  private let server: URL
  private let session: URLSession
  private let eventDelegate = EventSessionDelegate()
  /// Of its own, so that a stream takes no connection from the requests.
  private let eventSession: URLSession

  /// A transport to a server.
  ///
  /// - Parameters:
  ///   - server: its address, such as `https://sync.example.org`.
  ///   - idleTimeout: how long nothing may arrive before a request counts as failed; 30 seconds unless given.
  public init(server: URL, idleTimeout: Duration = .seconds(30)) {
    self.server = server
    let configuration = URLSessionConfiguration.ephemeral
    configuration.timeoutIntervalForRequest = Double(idleTimeout.components.seconds)
    configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
    configuration.httpShouldSetCookies = false
    session = URLSession(configuration: configuration)
    // Whoever reads a stream knows how long it may be silent.
    configuration.timeoutIntervalForRequest = 3600
    eventSession = URLSession(configuration: configuration, delegate: eventDelegate, delegateQueue: nil)
  }

  deinit {
    session.finishTasksAndInvalidate()
    eventSession.invalidateAndCancel()
  }

  /// Sends a request; see `Transport`.
  ///
  /// - Throws: `URLError` when no whole answer came.
  public func send(_ request: TransportRequest) async throws -> TransportAnswer {
    var message = URLRequest(url: server.appendingPathComponent(request.path))
    message.httpMethod = request.method
    if let token = request.token { message.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
    for (name, value) in request.headers { message.setValue(value, forHTTPHeaderField: name) }
    if let body = request.body {
      message.setValue("application/json", forHTTPHeaderField: "Content-Type")
      message.httpBody = Data(body)
    }
    let (data, response) = try await session.data(for: message)
    guard let answer = response as? HTTPURLResponse else {
      throw StoreError(.offline, "The server's answer was no HTTP.")
    }
    return TransportAnswer(
      status: answer.statusCode,
      retryAfter: answer.value(forHTTPHeaderField: "Retry-After").flatMap { Int($0) },
      body: [UInt8](data),
      headers: Dictionary(
        uniqueKeysWithValues: ["etag", "content-range", "repr-digest"].compactMap { name in
          answer.value(forHTTPHeaderField: name).map { (name, $0) }
        }))
  }

  /// Opens the stream of events; see `EventTransport`.
  public func events(token: String, lastEventID: String?) -> AsyncThrowingStream<[UInt8], any Error> {
    var message = URLRequest(url: server.appendingPathComponent("v1/events"))
    message.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
    message.setValue("text/event-stream", forHTTPHeaderField: "Accept")
    if let lastEventID { message.setValue(lastEventID, forHTTPHeaderField: "Last-Event-ID") }
    return eventDelegate.start(eventSession.dataTask(with: message))
  }
}
