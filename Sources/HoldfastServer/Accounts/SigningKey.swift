internal import COpenSSL
import HoldfastCore
import HoldfastService

/// A public key of an identity provider. The key's type decides the algorithm, never the token.
///
/// @unchecked Sendable: the key is immutable, and OpenSSL allows concurrent verification with one key.
final class SigningKey: @unchecked Sendable {
  /// The supported algorithms: RFC 7518, section 3.1; RFC 8037, section 3.1.
  enum Algorithm: String, Sendable {
    case rs256 = "RS256"
    case es256 = "ES256"
    case edDSA = "EdDSA"
  }

  /// The supported sizes of RSA keys in bits.
  private static let sizes: ClosedRange<Int32> = 2048...8192

  /// The key id in the key set; nil if absent.
  let id: String?
  let algorithm: Algorithm
  private let key: OpaquePointer

  /// Parses a JWK (RFC 7517, section 4); nil for another type or use, or an invalid form.
  init?(_ value: JSONValue) {
    func bytes(_ member: String, atMost limit: Int) -> [UInt8]? {
      guard let text = value[member]?.stringValue, text.utf8.count <= limit * 2 else { return nil }
      return Base64.bytes(url: text).flatMap { (1...limit).contains($0.count) ? $0 : nil }
    }
    if let use = value["use"], use != "sig" { return nil }
    if let uses = value["key_ops"]?.elements, !uses.contains("verify") { return nil }
    var made: OpaquePointer?
    switch (value["kty"]?.stringValue, value["crv"]?.stringValue) {
    case ("RSA", _):
      algorithm = .rs256
      guard let modulus = bytes("n", atMost: Int(Self.sizes.upperBound) / 8),
        let exponent = bytes("e", atMost: 8)
      else { return nil }
      made = holdfast_rsa_key(modulus, Int32(modulus.count), exponent, Int32(exponent.count))
    case ("EC", "P-256"):
      algorithm = .es256
      guard let x = bytes("x", atMost: 32), let y = bytes("y", atMost: 32), x.count == 32, y.count == 32
      else { return nil }
      made = holdfast_p256_key([4] + x + y, 65)
    case ("OKP", "Ed25519"):
      algorithm = .edDSA
      guard let point = bytes("x", atMost: 32), point.count == 32 else { return nil }
      made = holdfast_ed25519_key(point)
    default: return nil
    }
    guard let made else { return nil }
    key = made
    id = value["kid"]?.stringValue
    if let named = value["alg"], named != .string(algorithm.rawValue) { return nil }
    if algorithm == .rs256, !Self.sizes.contains(EVP_PKEY_get_bits(made)) { return nil }
  }

  deinit { EVP_PKEY_free(key) }

  /// Whether this key made a signature of a message.
  func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
    switch algorithm {
    case .rs256: holdfast_verify(key, 1, message, message.count, signature, signature.count) == 1
    case .edDSA: holdfast_verify(key, 0, message, message.count, signature, signature.count) == 1
    case .es256: signature.count == 64 && holdfast_verify_p256(key, message, message.count, signature) == 1
    }
  }

  /// Parses a key set (RFC 7517, section 5). Unusable keys are skipped.
  ///
  /// - Returns: nil if the bytes are no key set.
  static func keys(of set: [UInt8]) -> [SigningKey]? {
    guard set.count <= 256 << 10, let keys = (try? JSONValue(parsing: set))?["keys"]?.elements else {
      return nil
    }
    return keys.prefix(100).compactMap { SigningKey($0) }
  }
}
