internal import CSockets

/// A certificate, with the chain above it, and its key: what a server presents over TLS.
///
/// @unchecked Sendable: it is never changed, and GnuTLS lets many sessions use one key at the same time.
public final class TLSCertificate: @unchecked Sendable {
  let credentials: gnutls_certificate_credentials_t

  /// Reads a pair in PEM.
  ///
  /// - Parameters:
  ///   - chain: the certificate, then those above it, each signed by the next.
  ///   - key: its key, without a password.
  /// - Throws: `HTTPServerError.invalidCertificate` when they can't be read, or do not belong together.
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

  /// TLS 1.3 and 1.2, each with forward secrecy and an authenticated cipher: no key exchange by static RSA, no CBC, no SHA-1.
  ///
  /// Made once and never freed, as GnuTLS's own default is.
  static let priorities = Priorities()

  /// @unchecked Sendable: GnuTLS lets many sessions read one set of priorities at the same time.
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
