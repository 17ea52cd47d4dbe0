import HoldfastHTTP
import HoldfastService

/// The files of a certificate and its key, in PEM. They are read again when they change.
public struct TLSFiles: Sendable {
  /// The certificate, then those above it.
  public var certificate: String
  /// Its key, without a password.
  public var key: String

  /// The files at two paths.
  public init(certificate: String, key: String) {
    self.certificate = certificate
    self.key = key
  }

  /// What is in the files.
  struct Contents: Equatable {
    fileprivate let chain: [UInt8]
    fileprivate let key: [UInt8]

    /// The pair.
    ///
    /// - Throws: `HTTPServerError.invalidCertificate`.
    var pair: TLSCertificate { get throws { try TLSCertificate(chain: chain, key: key) } }
  }

  /// Reads the files.
  ///
  /// - Throws: `ServerError.unreachable` when one can't be read.
  func read() throws -> Contents {
    func bytes(_ path: String) throws -> [UInt8] {
      guard let file = HTTPFile(path: path) else { throw ServerError(.unreachable, "\(path) can't be read.") }
      return file.read(0..<min(file.size, 1 << 20))
    }
    return Contents(chain: try bytes(certificate), key: try bytes(key))
  }
}
