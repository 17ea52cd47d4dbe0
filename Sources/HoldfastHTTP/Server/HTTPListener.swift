import Glibc
import Synchronization

/// An address and port that are this process's from now on, though nobody can connect before a server starts on them. So a program whose
/// address can't be had has done nothing yet. A connection over the limit is answered here. The socket can be closed while requests in flight
/// are finished.
///
/// ```swift
/// let listener = try HTTPListener(port: 8080)
/// // What takes a while, or can't be undone.
/// let server = try HTTPServer(on: listener) { _, responder in responder.respond(.plain(status: 204)) }
/// ```
public final class HTTPListener: Sendable {
  /// The port, including one that the system selected.
  public let port: UInt16
  private let isClosed = Atomic<Bool>(false)
  private let address: String
  private let socket: Int32
  private let wakeReader: Int32
  private let wakeWriter: Int32

  /// Takes an address. Another process that listens there is noticed; one that has it like this is when either begins to listen.
  ///
  /// - Parameters:
  ///   - address: the IP address, IPv4 or IPv6; no names. `::` accepts both kinds. Default 127.0.0.1.
  ///   - port: the port. The default 0 selects a free one.
  /// - Throws: `HTTPServerError` if the address is invalid, in use, or none of this machine.
  public init(address: String = "127.0.0.1", port: UInt16 = 0) throws(HTTPServerError) {
    guard let wanted = SocketAddress(address, port: port) else {
      throw HTTPServerError(
        .invalidAddress, "\"\(address)\" is no IP address; give one such as 127.0.0.1, 0.0.0.0 or ::1")
    }
    let socket = Glibc.socket(
      wanted.family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard socket >= 0 else {
      throw HTTPServerError(.outOfResources, systemError: errno, "no socket to be had")
    }
    // Accepted sockets inherit TCP_NODELAY, so that answers are sent immediately.
    for (level, option) in [(SOL_SOCKET, SO_REUSEADDR), (Int32(IPPROTO_TCP), TCP_NODELAY)] {
      var on: Int32 = 1
      setsockopt(socket, level, option, &on, socklen_t(MemoryLayout<Int32>.size))
    }
    var wake: [Int32] = [-1, -1]
    guard wanted.withSockaddr({ bind(socket, $0, $1) }) == 0,
      let bound = SocketAddress({ getsockname(socket, $0, $1) })
    else {
      let error = errno
      Glibc.close(socket)
      throw HTTPServerError(cannotListenOn: address, port, error)
    }
    guard pipe(&wake) == 0 else {
      Glibc.close(socket)
      throw HTTPServerError(.outOfResources, systemError: errno, "no pipe to be had")
    }
    for descriptor in wake { closeInChildren(descriptor) }
    self.socket = socket
    self.address = address
    self.port = bound.port
    wakeReader = wake[0]
    wakeWriter = wake[1]
  }

  deinit { close() }

  /// Lets clients connect.
  func listen() throws(HTTPServerError) {
    guard Glibc.listen(socket, 1024) == 0 else { throw HTTPServerError(cannotListenOn: address, port, errno) }
  }

  /// Accepts connections until `stop()`. Runs on a thread of its own.
  func run(_ core: ServerCore, loops: [EventLoop]) {
    var polled = [
      pollfd(fd: wakeReader, events: Int16(POLLIN), revents: 0),
      pollfd(fd: socket, events: Int16(POLLIN), revents: 0),
    ]
    var next = 0
    while true {
      poll(&polled, 2, -1)
      if polled[0].revents != 0 { return }
      if accept(core, loops, &next) { continue }
      core.log("cannot accept connections: \(String(cString: strerror(errno)))")
      // Out of descriptors or memory: clients stay in the backlog until others finish.
      poll(&polled, 1, 100)
    }
  }

  /// Accepts pending connections; false if the system is out of descriptors or memory.
  private func accept(_ core: ServerCore, _ loops: [EventLoop], _ next: inout Int) -> Bool {
    while true {
      var descriptor: Int32 = -1
      let address = SocketAddress { address, length in
        descriptor = Glibc.accept(socket, address, length)
        return descriptor
      }
      guard let address else { return ![EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(errno) }
      closeInChildren(descriptor)
      _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
      if core.connections.admit(address) {
        loops[next].add(descriptor, address)
        next = (next + 1) % loops.count
      } else {
        refuse(descriptor, address, core)
      }
    }
  }

  /// Answers 503. Over TLS no answer is possible before the handshake.
  private func refuse(_ descriptor: Int32, _ peer: SocketAddress, _ core: ServerCore) {
    if !core.isSecure {
      let request = HTTPRequest(id: nextRequestID(), method: "", target: "", remoteAddress: peer.text)
      let response = core.failure(HTTPFailure(503, request, began: .now))
      response.report?(response)
      let head = ResponseHead(response, .close, date: dateField(of: time(nil)), log: core.log)
      let bytes = head.bytes + response.body
      // The socket's buffer is empty, so it accepts all bytes.
      send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
      shutdown(descriptor, Int32(SHUT_WR))
      // Unread bytes would turn the close into a reset.
      var unread = [UInt8](repeating: 0, count: 4096)
      recv(descriptor, &unread, unread.count, Int32(MSG_DONTWAIT))
    }
    Glibc.close(descriptor)
  }

  /// Makes `run` return.
  func stop() {
    _ = write(wakeWriter, [0], 1)
  }

  /// Releases the port, after `run` has returned. A second call does nothing.
  func close() {
    if isClosed.exchange(true, ordering: .acquiringAndReleasing) { return }
    for descriptor in [socket, wakeReader, wakeWriter] { Glibc.close(descriptor) }
  }
}

private func closeInChildren(_ descriptor: Int32) {
  _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
}

extension HTTPServerError {
  /// - Parameter error: what the system says.
  fileprivate init(cannotListenOn address: String, _ port: UInt16, _ error: Int32) {
    let advice =
      switch error {
      case EADDRNOTAVAIL: "it is no address of this machine; give one of its own, or 0.0.0.0 for all of them"
      case EACCES: "give a port from 1024 on, or run it with the right to use lower ones"
      default: "choose another port, or stop the process that has it"
      }
    self.init(
      .cannotBind, systemError: error,
      "cannot listen on \(address)\(port == 0 ? "" : " port \(port)"): \(String(cString: strerror(error))); \(advice)"
    )
  }
}
