internal import CSockets
import Glibc

/// What carries the bytes of one connection: its socket, with TLS over it or without. Nothing here waits.
///
/// Used by one thread at a time: by that of its loop, or under the connection's lock.
final class SocketTransport {
  /// What a step came to.
  enum Progress {
    case bytes(Int)
    /// The socket has nothing, or takes nothing, for now.
    case blocked
    /// The other side has ended its own, or the connection is broken.
    case ended
  }

  let descriptor: Int32
  private let session: gnutls_session_t?
  /// As long as GnuTLS may use it.
  private let certificate: TLSCertificate?

  /// Carries the bytes of a socket that never waits; nil when there is no memory for TLS.
  init?(_ descriptor: Int32, _ certificate: TLSCertificate?) {
    self.descriptor = descriptor
    self.certificate = certificate
    guard let certificate else {
      session = nil
      return
    }
    guard let priorities = TLSCertificate.priorities.handle,
      let session = holdfast_tls_open(descriptor, certificate.credentials, priorities)
    else { return nil }
    self.session = session
  }

  deinit { if let session { gnutls_deinit(session) } }

  var isSecure: Bool { session != nil }

  /// Goes on with the handshake: `bytes` when it is done.
  func shakeHands() -> Progress {
    guard let session else { return .bytes(0) }
    while true {
      let result = gnutls_handshake(session)
      if result == 0 { return .bytes(0) }
      if holdfast_tls_must_wait(Int(result)) != 0 { return .blocked }
      // A warning of the other side.
      if gnutls_error_is_fatal(result) != 0 { return .ended }
    }
  }

  func read(_ buffer: UnsafeMutableRawBufferPointer) -> Progress {
    guard let session else {
      while true {
        let count = recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
        if count > 0 { return .bytes(count) }
        if count < 0, errno == EINTR { continue }
        return count < 0 && errno == EAGAIN ? .blocked : .ended
      }
    }
    let count = gnutls_record_recv(session, buffer.baseAddress, buffer.count)
    if count > 0 { return .bytes(count) }
    // Renegotiation is asked for with an error that is not fatal; nobody needs it.
    return holdfast_tls_must_wait(count) != 0 ? .blocked : .ended
  }

  /// - Parameter more: whether more is to be written at once.
  func write(_ bytes: UnsafeRawBufferPointer, more: Bool = false) -> Progress {
    if bytes.isEmpty { return .bytes(0) }
    guard let session else {
      let flags = Int32(MSG_NOSIGNAL | MSG_DONTWAIT) | (more ? Int32(MSG_MORE) : 0)
      while true {
        let count = Glibc.send(descriptor, bytes.baseAddress, bytes.count, flags)
        if count >= 0 { return .bytes(count) }
        if errno == EINTR { continue }
        return errno == EAGAIN ? .blocked : .ended
      }
    }
    // After `blocked`, GnuTLS is to be given the same bytes again: the callers do, as they have not gone on.
    let count = gnutls_record_send(session, bytes.baseAddress, bytes.count)
    if count >= 0 { return .bytes(count) }
    return holdfast_tls_must_wait(count) != 0 ? .blocked : .ended
  }

  /// Sends a stretch of a file; without TLS only.
  func send(_ file: HTTPFile, from offset: Int64, count: Int) -> Progress {
    var place = off_t(offset)
    while true {
      let sent = file.send(to: descriptor, from: &place, count: count)
      // The file has become shorter: what was promised can't be kept.
      if sent == 0 { return .ended }
      if sent > 0 { return .bytes(sent) }
      if errno == EINTR { continue }
      return errno == EAGAIN ? .blocked : .ended
    }
  }

  /// Says that nothing more will be sent.
  func finish() {
    if let session { gnutls_bye(session, GNUTLS_SHUT_WR) }
    shutdown(descriptor, Int32(SHUT_WR))
  }
}
