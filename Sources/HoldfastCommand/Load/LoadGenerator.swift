import Glibc

/// Measures an HTTP/1.1 server: keeps a number of connections busy, each with one request at a time, from one thread
/// at a cost of a few microseconds a request. It reads of an answer only what it needs: the status and the
/// Content-Length, which every answer must have.
struct LoadGenerator {
  /// What was measured.
  struct Result: Sendable, Equatable {
    /// Answers that came.
    var requests = 0
    /// Of these, the ones whose status is neither 2xx nor 304, and requests whose connection failed or was closed.
    var errors = 0
    /// From the first request to the last answer.
    var elapsed = Duration.zero
    /// Half of the answers came within this time of their request.
    var p50 = Duration.zero
    /// 99 of 100 answers came within this time of their request.
    var p99 = Duration.zero

    /// Answers per second.
    var rate: Double {
      let seconds = Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18
      return seconds > 0 ? Double(requests) / seconds : 0
    }
  }

  /// The system refused: a connection could not be opened.
  struct Failure: Error, CustomStringConvertible {
    var doing: String
    var systemError = errno

    var description: String { "\(doing): \(String(cString: strerror(systemError)))" }
  }

  /// The server's IP address; IPv4 or IPv6, no name.
  var address = "127.0.0.1"
  /// The server's port.
  var port: UInt16
  /// How many connections, each with one request in flight.
  var connections: Int
  /// How many requests to send in all.
  var requests: Int
  /// When to stop sending even if fewer were sent.
  var timeLimit: Duration

  /// Runs until all requests are answered, or until the time is over.
  ///
  /// - Parameter nextRequest: makes a connection's next request, whole, from the body of its answer before (nil at
  ///   first; valid during the call). An empty one ends the connection's work. Called on this thread.
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
    // poll, not epoll: Glibc's module lacks it, and for some hundred connections the two cost the same.
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
          // No longer asked for, or it would be ready for ever.
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
