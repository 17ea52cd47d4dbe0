import Glibc

/// Listening devices: a socket each with the stream of `GET /v1/events`, read by one thread with one `poll`.
final class EventListeners {
  private var polled: [pollfd] = []
  private var buffer = [UInt8](repeating: 0, count: 64 << 10)

  var count: Int { polled.count }
  var descriptors: [Int32] { polled.map(\.fd) }

  deinit { for entry in polled { close(entry.fd) } }

  /// Raises the limit of open files to its maximum.
  static func prepare() {
    var limit = rlimit()
    let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    guard getrlimit(files, &limit) == 0 else { return }
    limit.rlim_cur = limit.rlim_max
    setrlimit(files, &limit)
  }

  /// Opens a stream for each token, and waits for its first event.
  func open(_ tokens: some Sequence<String>, port: UInt16) throws {
    let first = polled.count
    for token in tokens {
      let socket = try Self.connect(port: port)
      polled.append(pollfd(fd: socket, events: Int16(POLLIN), revents: 0))
      let request = Array("GET /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(token)\r\n\r\n".utf8)
      guard send(socket, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
        throw LoadGenerator.Failure(doing: "cannot ask for a stream")
      }
      // The server's listen backlog is shorter than the number of streams.
      if (polled.count - first) % 500 == 0 {
        try wait(for: "event: hello", in: polled.count - 500..<polled.count)
      }
    }
    let rest = (polled.count - first) % 500
    try wait(for: "event: hello", in: polled.count - rest..<polled.count)
  }

  /// Waits until each of the listeners has received something with `text` in it.
  ///
  /// - Parameter each: called when one has, at once.
  func wait(for text: String, in range: Range<Int>? = nil, each: () -> Void = {}) throws {
    let pattern = Array(text.utf8)
    var waiting = Array(polled[range ?? polled.indices])
    var missing = waiting.count
    while missing > 0 {
      let ready = poll(&waiting, nfds_t(waiting.count), 30_000)
      if ready < 0, errno == EINTR { continue }
      guard ready > 0 else {
        throw BenchError(text: "\(missing) of \(waiting.count) listeners received no \(text) in 30 seconds")
      }
      for index in waiting.indices where waiting[index].revents != 0 && waiting[index].fd >= 0 {
        let count = recv(waiting[index].fd, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        if count <= 0 { throw BenchError(text: "a stream has ended") }
        guard contains(pattern, count) else { continue }
        each()
        missing -= 1
        waiting[index].fd = -1
      }
    }
  }

  /// Reads what has come on one of the streams; whether zones have moved.
  func hears(_ index: Int) throws -> Bool {
    let count = recv(polled[index].fd, &buffer, buffer.count, Int32(MSG_DONTWAIT))
    if count <= 0 { throw BenchError(text: "a stream has ended") }
    return contains(Array("event: zones".utf8), count)
  }

  /// Discards received bytes.
  func drain() {
    for entry in polled { while recv(entry.fd, &buffer, buffer.count, Int32(MSG_DONTWAIT)) > 0 {} }
  }

  private func contains(_ pattern: [UInt8], _ count: Int) -> Bool {
    guard count >= pattern.count else { return false }
    return (0...(count - pattern.count)).contains { start in
      buffer[start] == pattern[0] && buffer[start..<(start + pattern.count)].elementsEqual(pattern)
    }
  }

  private static func connect(port: UInt16) throws -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    (address.sin_family, address.sin_port) = (sa_family_t(AF_INET), port.bigEndian)
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard descriptor >= 0, result == 0 else {
      throw LoadGenerator.Failure(doing: "cannot connect to port \(port)")
    }
    return descriptor
  }
}
