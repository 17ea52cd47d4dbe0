internal import CSockets
import Glibc

/// The byte transport of one connection: its socket, with or without TLS. Never blocks.
///
/// Used by one thread at a time: by that of its loop, or with the connection's lock held.
final class SocketTransport {
  /// The result of a step.
  enum Progress {
    case bytes(Int)
    /// The socket is not readable or writable now.
    case blocked
    /// The peer has closed its side, or the connection is broken.
    case ended
  }

  let descriptor: Int32
  private let session: gnutls_session_t?
  /// Retained for GnuTLS.
  private let certificate: TLSCertificate?

  /// Creates a transport on a nonblocking socket; nil if there is no memory for TLS.
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

  /// Continues the handshake; returns `bytes` when it is complete.
  func shakeHands() -> Progress {
    guard let session else { return .bytes(0) }
    while true {
      let result = gnutls_handshake(session)
      if result == 0 { return .bytes(0) }
      if holdfast_tls_must_wait(Int(result)) != 0 { return .blocked }
      // Not fatal: a warning of the peer.
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
    // A renegotiation request is a nonfatal error; it is not supported.
    return holdfast_tls_must_wait(count) != 0 ? .blocked : .ended
  }

  /// - Parameter more: whether more bytes follow immediately.
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
    // After `blocked`, GnuTLS requires the same bytes again. The callers repeat them, because they have not advanced.
    let count = gnutls_record_send(session, bytes.baseAddress, bytes.count)
    if count >= 0 { return .bytes(count) }
    return holdfast_tls_must_wait(count) != 0 ? .blocked : .ended
  }

  /// Sends a range of a file; only without TLS.
  func send(_ file: HTTPFile, from offset: Int64, count: Int) -> Progress {
    var place = off_t(offset)
    while true {
      let sent = file.send(to: descriptor, from: &place, count: count)
      // The file was truncated, so the announced length can't be sent.
      if sent == 0 { return .ended }
      if sent > 0 { return .bytes(sent) }
      if errno == EINTR { continue }
      return errno == EAGAIN ? .blocked : .ended
    }
  }

  /// Announces that nothing more will be sent.
  func finish() {
    if let session { gnutls_bye(session, GNUTLS_SHUT_WR) }
    shutdown(descriptor, Int32(SHUT_WR))
  }
}
