import HoldfastConcurrency

/// The limits of what a client can use. Every limit applies from the first byte; none can be disabled.
public struct HTTPLimits: Sendable {
  /// The maximum size of a request's body in bytes, also after decoding. Larger ones are answered 413. Default 8 MiB.
  public var maximumBodyBytes: Int
  /// The maximum size of all requests' bodies in memory, from arrival to answer. A request without room is answered 503. The first 64 KiB
  /// of each do not count, so that large requests do not block small ones. Default 512 MiB, at least `maximumBodyBytes`.
  public var maximumBufferedBytes: Int
  /// The part of them for one payer, as named by `HTTPAdmission.admit`, or for one peer's network. Default 64 MiB, at least
  /// `maximumBodyBytes`.
  public var maximumBufferedBytesPerPayer = 64 << 20
  /// The maximum size of all unsent answers. An answer without room becomes a 503, or is cut if its request has had an effect. Answers up
  /// to 64 KiB count only if the system does not accept them immediately; without room their connection is closed. Files count only if they
  /// are compressed. Default 256 MiB.
  public var maximumAnswerBytes = 256 << 20
  /// The part of them for one payer: `HTTPResponse.payers`, or the peer's network. Default 32 MiB.
  public var maximumAnswerBytesPerPayer = 32 << 20
  /// The maximum size of the request line and header fields together. Larger ones are answered 431, or 414 if the line alone is too long.
  /// Default 16 KiB, at least 1 KiB.
  public var maximumHeaderBytes: Int
  /// The maximum number of open connections. Further ones are answered 503 and closed. Default 8,192.
  public var maximumConnections: Int
  /// The maximum number of open connections of one address, or of one /64 network with IPv6. Further ones are answered 503 and closed.
  /// Default 1,024.
  public var maximumConnectionsPerAddress: Int
  /// Addresses exempt from `maximumConnectionsPerAddress`, such as those of reverse proxies. Default none.
  public var uncountedAddresses: [IPAddress.Range] = []
  /// The time from the end of the request line, or from the opening of the connection, to the last byte of the head, and the time for a body
  /// beside `minimumBodyRate`. Then the server answers 408 and closes the connection. Default 30 seconds.
  public var requestDeadline: Duration
  /// The bytes of a body each second, on the average, for which a body has more time than `requestDeadline`. Default 4,096.
  public var minimumBodyRate = 4096
  /// The time from the end of an answer to the end of the next request line. Then the connection is closed without an answer. Default 75
  /// seconds.
  public var idleTimeout: Duration
  /// The time from the answer until the system has accepted its last byte. Then the connection is cut. Default 5 minutes.
  public var responseDeadline: Duration

  /// Creates limits. The defaults are documented at the properties.
  public init(
    maximumBodyBytes: Int = 8 << 20, maximumHeaderBytes: Int = 16 << 10, maximumConnections: Int = 8192,
    maximumConnectionsPerAddress: Int = 1024, requestDeadline: Duration = .seconds(30),
    idleTimeout: Duration = .seconds(75), responseDeadline: Duration = .seconds(300),
    maximumBufferedBytes: Int = 512 << 20
  ) {
    self.maximumBodyBytes = maximumBodyBytes
    self.maximumBufferedBytes = max(maximumBufferedBytes, maximumBodyBytes)
    self.maximumHeaderBytes = max(maximumHeaderBytes, 1024)
    self.maximumConnections = maximumConnections
    self.maximumConnectionsPerAddress = maximumConnectionsPerAddress
    self.requestDeadline = requestDeadline
    self.idleTimeout = idleTimeout
    self.responseDeadline = responseDeadline
  }

  /// The part of each body that does not count in `maximumBufferedBytes`.
  static let smallBodyBytes = 64 << 10

  /// Answers up to this size count in `maximumAnswerBytes` only if the system does not accept them immediately.
  static let smallAnswerBytes = 64 << 10

  /// The size from which a content is compressed.
  static let leastCodedBytes = 1024

  /// The size up to which a file is compressed, in memory.
  static let mostCodedFileBytes = 16 << 20

  /// How much of a refused request's body is read and discarded, so that the client can read the answer before the connection closes.
  var lingeringBytes: Int { max(1 << 20, 2 * maximumBodyBytes) }

  /// The time limit for that.
  var lingering: Duration { min(requestDeadline, .seconds(5)) }

  /// The interval of timeout checks. A deadline is overrun by at most a quarter, for deadlines of 20 milliseconds and more.
  var sweepInterval: Duration {
    min(max(min(requestDeadline, idleTimeout, responseDeadline) / 4, .milliseconds(5)), .seconds(1))
  }
}
