import HoldfastConcurrency

/// What one client may cost the server. Every limit holds from the first byte; none can be switched off.
public struct HTTPLimits: Sendable {
  /// Bytes of one request's content, also when a coding is taken off; more is answered 413. Default 8 MiB.
  public var maximumBodyBytes: Int
  /// Bytes of all requests' contents that are held at the same time, from their arrival to their answer; a request for
  /// which there is no room is answered 503. The first 64 KiB of each don't count, so that large requests don't keep small
  /// ones out. Default 512 MiB, at least `maximumBodyBytes`.
  public var maximumBufferedBytes: Int
  /// As many of them as may be of one payer, whom `HTTPAdmission.admit` names, or of one peer's address. Default 64 MiB, at least
  /// `maximumBodyBytes`.
  public var maximumBufferedBytesPerPayer = 64 << 20
  /// Bytes of all answers that wait for their clients to take them; an answer for which there is no room becomes 503. Answers up to 64 KiB count
  /// only when the system does not take them at once: then a connection for which there is no room is closed. Files don't count. Default 256 MiB.
  public var maximumAnswerBytes = 256 << 20
  /// As many of them as may be of one payer: `HTTPResponse.payers`, or the peer's address. Default 32 MiB.
  public var maximumAnswerBytesPerPayer = 32 << 20
  /// Bytes of the request line and header fields together; more is answered 431, or 414 when the line alone is longer. Default 16 KiB, at least 1 KiB.
  public var maximumHeaderBytes: Int
  /// Open connections; further ones are answered 503 and closed. Default 8,192.
  public var maximumConnections: Int
  /// Open connections of one address, of one /64 network with IPv6; further ones are answered 503 and closed. Default 1,024.
  public var maximumConnectionsPerAddress: Int
  /// Addresses whose connections don't count for `maximumConnectionsPerAddress`, such as those of proxies in front. Default none.
  public var uncountedAddresses: [IPAddress.Range] = []
  /// From the end of the request line, or from the opening of the connection, to the last byte of the request.
  /// Then 408 and the end of the connection. Default 30 seconds.
  public var requestDeadline: Duration
  /// From the end of an answer to the end of the next request line; then the connection is closed without a word.
  /// Default 75 seconds.
  public var idleTimeout: Duration
  /// From the answer to the moment when the system has taken its last byte; then the connection is cut.
  /// Default 5 minutes.
  public var responseDeadline: Duration

  /// Limits; each has the default named at its property.
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

  /// How much of each content is not counted in `maximumBufferedBytes`.
  static let smallBodyBytes = 64 << 10

  /// Answers up to this size count in `maximumAnswerBytes` only when the system does not take them at once.
  static let smallAnswerBytes = 64 << 10

  /// From which size on a content is compressed.
  static let leastCodedBytes = 1024

  /// How much of a refused request's content is read and thrown away, so that its sender gets to read the answer
  /// instead of a reset connection.
  var lingeringBytes: Int { max(1 << 20, 2 * maximumBodyBytes) }

  /// How long that may last.
  var lingering: Duration { min(requestDeadline, .seconds(5)) }

  /// How often the connections are looked through: often enough that a limit is never overdrawn by a quarter.
  var sweepInterval: Duration {
    min(max(min(requestDeadline, idleTimeout, responseDeadline) / 4, .milliseconds(5)), .seconds(1))
  }
}
