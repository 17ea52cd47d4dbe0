import Glibc

/// One keep-alive connection of the load generator.
final class LoadConnection {
  enum Received {
    case partly
    /// The body is valid until the next call of any method.
    case whole(status: Int, body: UnsafeRawBufferPointer)
    case failed
  }

  let number: Int
  let descriptor: Int32
  private(set) var sentAt: UInt64 = 0
  /// Whether an answer is outstanding.
  private(set) var isWaiting = false

  private var buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
  private var filled = 0
  /// The status, and the start and end of the body, once the head is complete.
  private var head: (status: Int, bodyStart: Int, end: Int)?

  init(number: Int, address: String, port: UInt16) throws {
    self.number = number
    var v4 = sockaddr_in()
    var v6 = sockaddr_in6()
    let isV6 = inet_pton(AF_INET6, address, &v6.sin6_addr) == 1
    guard isV6 || inet_pton(AF_INET, address, &v4.sin_addr) == 1 else {
      throw LoadGenerator.Failure(doing: "\"\(address)\" is no IP address", systemError: EINVAL)
    }
    (v4.sin_family, v4.sin_port) = (sa_family_t(AF_INET), port.bigEndian)
    (v6.sin6_family, v6.sin6_port) = (sa_family_t(AF_INET6), port.bigEndian)
    descriptor = socket(isV6 ? AF_INET6 : AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    let result =
      isV6
      ? withUnsafePointer(to: &v6) { connectTo($0, descriptor) }
      : withUnsafePointer(to: &v4) { connectTo($0, descriptor) }
    guard result == 0 else { throw LoadGenerator.Failure(doing: "cannot connect to \(address) port \(port)") }
    var on: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
  }

  deinit {
    close(descriptor)
    buffer.deallocate()
  }

  /// Sends a whole request; false if the connection has failed.
  func send(_ request: [UInt8], at time: UInt64) -> Bool {
    sentAt = time
    (filled, head) = (0, nil)
    var done = 0
    while done < request.count {
      let count = request.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress.map { $0 + done }, $0.count - done, Int32(MSG_NOSIGNAL))
      }
      if count <= 0 { return false }
      done += count
    }
    isWaiting = true
    return true
  }

  /// Receives the available bytes.
  func receive() -> Received {
    if filled == buffer.count { grow(to: 2 * buffer.count) }
    let count = recv(
      descriptor, buffer.baseAddress.map { $0 + filled }, buffer.count - filled, Int32(MSG_DONTWAIT))
    if count <= 0 { return count < 0 && errno == EAGAIN ? .partly : .failed }
    guard isWaiting else { return .failed }
    filled += count
    if head == nil {
      do { head = try parseHead() } catch { return .failed }
    }
    guard let head, filled >= head.end else { return .partly }
    isWaiting = false
    return .whole(
      status: head.status, body: UnsafeRawBufferPointer(rebasing: buffer[head.bodyStart..<head.end]))
  }

  private func grow(to size: Int) {
    let new = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
    new.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[..<filled]))
    buffer.deallocate()
    buffer = new
  }

  private struct NotHTTP: Error {}

  /// The status and Content-Length; nil while the head is incomplete.
  private func parseHead() throws -> (status: Int, bodyStart: Int, end: Int)? {
    let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<filled])
    guard let base = bytes.baseAddress else { return nil }
    var length = 0
    var line = 0
    while let found = memchr(base + line, 0x0A, filled - line) {
      let next = base.distance(to: UnsafeRawPointer(found)) + 1
      if next - line <= 2 {
        guard next >= 16, let status = number(bytes, at: 9) else { throw NotHTTP() }
        return (status, next, next + length)
      }
      let name = base.assumingMemoryBound(to: CChar.self) + line
      if next - line > 16, strncasecmp(name, "content-length:", 15) == 0 {
        var start = line + 15
        while bytes[start] == 0x20 { start += 1 }
        guard let value = number(bytes, at: start) else { throw NotHTTP() }
        length = value
      }
      line = next
    }
    return nil
  }

  private func number(_ bytes: UnsafeRawBufferPointer, at start: Int) -> Int? {
    var value = 0
    var index = start
    while index < bytes.count, bytes[index] &- 0x30 < 10, value < 1 << 40 {
      value = value * 10 + Int(bytes[index] - 0x30)
      index += 1
    }
    return index == start ? nil : value
  }
}

private func connectTo<Address>(_ address: UnsafePointer<Address>, _ descriptor: Int32) -> Int32 {
  address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
    connect(descriptor, $0, socklen_t(MemoryLayout<Address>.size))
  }
}
