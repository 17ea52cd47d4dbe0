public import HoldfastCore

/// A request to the server.
///
/// ```swift
/// struct Loud: Transport {
///   let http: HTTPTransport
///   func send(_ request: TransportRequest) async throws -> TransportAnswer {
///     print(request.method, request.path)
///     return try await http.send(request)
///   }
/// }
/// ```
public struct TransportRequest: Sendable {
  /// The HTTP method.
  public let method: String
  /// The path below the server's address, percent-encoded, and its query where there is one: `v1/users?name=ann`.
  public let path: String
  /// The device's token, where there is one.
  public let token: String?
  /// JSON, or nil.
  public let body: [UInt8]?
  /// Further header fields.
  public let headers: TextMap<String>

  /// A request of its parts.
  public init(
    method: String, path: String, token: String? = nil, body: [UInt8]? = nil, headers: TextMap<String> = [:]
  ) {
    self.method = method
    self.path = path
    self.token = token
    self.body = body
    self.headers = headers
  }
}

/// The server's answer.
///
/// ```swift
/// let answer = try await http.send(TransportRequest(method: "GET", path: "v1/zones", token: token))
/// print(answer.status, answer.body.count)
/// ```
public struct TransportAnswer: Sendable {
  /// The HTTP status.
  public let status: Int
  /// The seconds of Retry-After, where it was sent; from 0 to `longestRetryAfter`.
  public let retryAfter: Int?
  /// The whole body.
  public let body: [UInt8]
  /// The header fields, by their names in lower case; those of snapshots are needed, others may be left out.
  public let headers: TextMap<String>

  /// An answer of its parts.
  public init(status: Int, retryAfter: Int? = nil, body: [UInt8], headers: TextMap<String> = [:]) {
    self.status = status
    self.retryAfter = retryAfter.map { min(max($0, 0), longestRetryAfter) }
    self.body = body
    self.headers = headers
  }
}

/// The way to the server.
///
/// ```swift
/// struct Offline: Transport {
///   func send(_ request: TransportRequest) async throws -> TransportAnswer {
///     throw StoreError(.offline, "Switched off in the settings.")
///   }
/// }
/// let engine = SyncEngine(store: store, transport: Offline())
/// ```
public protocol Transport: Sendable {
  /// Sends a request and waits for its whole answer.
  ///
  /// - Throws: when no whole answer came; the request may have had its effect all the same.
  func send(_ request: TransportRequest) async throws -> TransportAnswer
}

/// A way to the server that carries streams of events too.
///
/// ```swift
/// let http: any EventTransport = HTTPTransport(server: server)
/// for try await bytes in http.events(token: token, lastEventID: nil) { print(bytes.count) }
/// ```
public protocol EventTransport: Transport {
  /// Opens the stream of `GET /v1/events`. It is closed when nobody reads it any more.
  ///
  /// - Parameters:
  ///   - token: the device's token.
  ///   - lastEventID: the id of the last event that the device had, where it had one.
  /// - Returns: the bytes as they come, from after the head on. Ends when the server ends the stream; throws `EventStreamRefusal`
  ///   when there is no stream, and other errors when the connection breaks. How long nothing may come is for the reader to say.
  func events(token: String, lastEventID: String?) -> AsyncThrowingStream<[UInt8], any Error>
}

/// A request for a stream of events got another answer.
///
/// ```swift
/// do { for try await _ in http.events(token: token, lastEventID: nil) {} } catch let refusal as EventStreamRefusal {
///   print(refusal.status, refusal.retryAfter ?? 0)
/// }
/// ```
public struct EventStreamRefusal: Error, Sendable, Hashable {
  /// The HTTP status.
  public let status: Int
  /// The seconds of Retry-After, where it was sent; from 0 to `longestRetryAfter`.
  public let retryAfter: Int?

  /// A refusal of its parts.
  public init(status: Int, retryAfter: Int? = nil) {
    self.status = status
    self.retryAfter = retryAfter.map { min(max($0, 0), longestRetryAfter) }
  }
}

/// The longest wait in seconds that a server may ask for: an hour. A longer one counts as this, so that no answer keeps a device away.
let longestRetryAfter = 3600
