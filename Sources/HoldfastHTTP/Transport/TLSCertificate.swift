internal import CSockets

/// The certificate of a TLS server, with its chain and key.
///
/// @unchecked Sendable: it is immutable, and GnuTLS allows concurrent sessions with one key.
public final class TLSCertificate: @unchecked Sendable {
  let credentials: gnutls_certificate_credentials_t

  /// Parses a PEM pair.
  ///
  /// - Parameters:
  ///   - chain: the certificate, followed by its issuers, each signed by the next.
  ///   - key: the private key, without a password.
  /// - Throws: `HTTPServerError.invalidCertificate` if they can't be read, or do not match.
  public init(chain: [UInt8], key: [UInt8]) throws(HTTPServerError) {
    var error: Int32 = 0
    guard
      let credentials = holdfast_tls_read(
        chain, UInt32(clamping: chain.count), key, UInt32(clamping: key.count), &error)
    else {
      throw HTTPServerError(
        .invalidCertificate,
        "the certificate or its key can't be used: \(String(cString: gnutls_strerror(error)))")
    }
    self.credentials = credentials
  }

  deinit { gnutls_certificate_free_credentials(credentials) }

  /// TLS 1.3 and 1.2 with forward secrecy and an authenticated cipher: no static RSA key exchange, no CBC, no SHA-1.
  ///
  /// Created once and never freed, like GnuTLS's own default.
  static let priorities = Priorities()

  /// @unchecked Sendable: GnuTLS allows concurrent sessions with one set of priorities.
  struct Priorities: @unchecked Sendable {
    let handle: gnutls_priority_t?

    fileprivate init() {
      var handle: gnutls_priority_t?
      gnutls_priority_init(
        &handle,
        "SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA"
          + ":-CIPHER-ALL:+AES-256-GCM:+AES-128-GCM:+CHACHA20-POLY1305:-MAC-ALL:+AEAD:-SIGN-RSA-SHA1:-SIGN-ECDSA-SHA1",
        nil)
      self.handle = handle
    }
  }
}
