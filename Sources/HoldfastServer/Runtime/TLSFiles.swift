import HoldfastHTTP
import HoldfastService

/// The PEM files of a certificate and its key. They are reloaded when they change.
public struct TLSFiles: Sendable {
  /// The certificate, followed by its intermediate certificates.
  public var certificate: String
  /// The private key, without a password.
  public var key: String

  /// The files at two paths.
  public init(certificate: String, key: String) {
    self.certificate = certificate
    self.key = key
  }

  /// The contents of both files.
  struct Contents: Equatable {
    fileprivate let chain: [UInt8]
    fileprivate let key: [UInt8]

    /// The parsed pair.
    ///
    /// - Throws: `HTTPServerError.invalidCertificate`.
    var pair: TLSCertificate { get throws { try TLSCertificate(chain: chain, key: key) } }
  }

  /// Reads the files.
  ///
  /// - Throws: `ServerError.unreachable` if a file can't be read.
  func read() throws -> Contents {
    func bytes(_ path: String) throws -> [UInt8] {
      guard let file = HTTPFile(path: path) else { throw ServerError(.unreachable, "\(path) can't be read.") }
      return file.read(0..<min(file.size, 1 << 20))
    }
    return Contents(chain: try bytes(certificate), key: try bytes(key))
  }
}
