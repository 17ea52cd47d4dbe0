import Glibc

/// Measures an HTTP/1.1 server. One thread keeps a number of connections busy, each with one request at a time, at a cost of a few
/// microseconds per request. Of an answer it parses only the status and the Content-Length, which every answer must have.
struct LoadGenerator {
  /// The result of a measurement.
  struct Result: Sendable, Equatable {
    /// The number of answers.
    var requests = 0
    /// The number of answers with a status other than 2xx and 304, and of requests whose connection failed or was closed.
    var errors = 0
    /// The time from the first request to the last answer.
    var elapsed = Duration.zero
    /// The median latency.
    var p50 = Duration.zero
    /// The 99th percentile of the latency.
    var p99 = Duration.zero

    /// Answers per second.
    var rate: Double {
      let seconds = Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18
      return seconds > 0 ? Double(requests) / seconds : 0
    }
  }

  /// The system refused to open a connection.
  struct Failure: Error, CustomStringConvertible {
    var doing: String
    var systemError = errno

    var description: String { "\(doing): \(String(cString: strerror(systemError)))" }
  }

  /// The server's IP address, IPv4 or IPv6; not a name.
  var address = "127.0.0.1"
  /// The server's port.
  var port: UInt16
  /// The number of connections, each with one request in flight.
  var connections: Int
  /// The total number of requests.
  var requests: Int
  /// The time after which no more requests are sent.
  var timeLimit: Duration

  /// Runs until all requests are answered, or the time is over.
  ///
  /// - Parameter nextRequest: returns a connection's next request, given the body of its previous answer (nil at first; valid during the
  ///   call). An empty request ends the connection's work. Called on this thread.
  func run(
    _ nextRequest: (_ connection: Int, _ previousResponseBody: UnsafeRawBufferPointer?) -> [UInt8]
  ) throws -> Result {
    signal(SIGPIPE, SIG_IGN)
    let clients = try (0..<connections).map {
      try LoadConnection(number: $0, address: address, port: port)
    }
    return measure(clients, nextRequest)
  }

  private func measure(
    _ clients: [LoadConnection],
    _ nextRequest: (_ connection: Int, _ previousResponseBody: UnsafeRawBufferPointer?) -> [UInt8]
  ) -> Result {
    var result = Result()
    var latencies: [UInt64] = []
    latencies.reserveCapacity(min(requests, 1 << 22))
    var sent = 0
    var inFlight = 0
    let start = nanoseconds()
    var now = start
    let end = start + nanoseconds(of: timeLimit)

    func send(_ client: LoadConnection, after body: UnsafeRawBufferPointer?) {
      guard sent < requests, now < end else { return }
      let request = nextRequest(client.number, body)
      if request.isEmpty { return }
      sent += 1
      if client.send(request, at: now) { inFlight += 1 } else { result.errors += 1 }
    }

    for client in clients { send(client, after: nil) }
    // poll instead of epoll: Glibc's module lacks epoll, and for some hundred connections both cost the same.
    var polled = clients.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
    while inFlight > 0, now < end {
      poll(&polled, nfds_t(polled.count), Int32(clamping: (end - now) / 1_000_000 + 1))
      now = nanoseconds()
      for (index, client) in clients.enumerated() where polled[index].revents != 0 {
        switch client.receive() {
        case .partly: break
        case .whole(let status, let body):
          inFlight -= 1
          result.requests += 1
          latencies.append(now - client.sentAt)
          if !(200...299).contains(status), status != 304 { result.errors += 1 }
          send(client, after: body)
        case .failed:
          // No longer polled; otherwise it would always be ready.
          polled[index].fd = -1
          if client.isWaiting {
            inFlight -= 1
            result.errors += 1
          }
        }
      }
    }
    result.elapsed = .nanoseconds(Int64(clamping: now - start))
    latencies.sort()
    if let last = latencies.last {
      result.p50 = .nanoseconds(Int64(clamping: latencies[latencies.count / 2]))
      let index = latencies.count * 99 / 100
      result.p99 = .nanoseconds(Int64(clamping: index < latencies.count ? latencies[index] : last))
    }
    return result
  }

  private func nanoseconds(of duration: Duration) -> UInt64 {
    let (seconds, attoseconds) = duration.components
    return UInt64(clamping: seconds) &* 1_000_000_000 &+ UInt64(clamping: attoseconds / 1_000_000_000)
  }

  private func nanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}
