internal import CMicroHTTPD

/// A certificate, with the chain above it, and its key: what a server presents over TLS.
///
/// @unchecked Sendable: it is never changed, and GnuTLS lets many sessions use one key at the same time.
public final class TLSCertificate: @unchecked Sendable {
  let handle: UnsafeMutablePointer<holdfast_certificate>

  /// Reads a pair in PEM.
  ///
  /// - Parameters:
  ///   - chain: the certificate, then those above it, each signed by the next; 16 at the most.
  ///   - key: its key, without a password.
  /// - Throws: `HTTPServerError.invalidCertificate` when they can't be read, or do not belong together.
  public init(chain: [UInt8], key: [UInt8]) throws(HTTPServerError) {
    var error: Int32 = 0
    guard
      let handle = holdfast_certificate_read(
        chain, UInt32(clamping: chain.count), key, UInt32(clamping: key.count), &error)
    else {
      throw HTTPServerError(
        .invalidCertificate,
        "the certificate or its key can't be used: \(String(cString: gnutls_strerror(error)))")
    }
    self.handle = handle
  }

  deinit { holdfast_certificate_free(handle) }
}
