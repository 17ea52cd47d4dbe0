import HoldfastCore
import HoldfastService

/// A JSON Web Token in compact form, parsed but not yet verified: RFC 7515, section 7.1; RFC 7519.
struct JWT {
  /// The maximum length of a token in bytes.
  static let sizeLimit = 8 << 10
  /// The tolerated clock difference in seconds.
  static let skew = 60.0

  /// The rejection of a token, with the reason.
  struct Refusal: Error {
    let reason: String

    init(_ reason: String) { self.reason = reason }
  }

  let algorithm: SigningKey.Algorithm
  let keyID: String?
  private let payload: JSONValue
  private let message: [UInt8]
  private let signature: [UInt8]

  /// Whether a bearer text is a JWT: session tokens contain no dots.
  static func isMeant(by text: Substring) -> Bool { text.utf8.contains(UInt8(ascii: ".")) }

  /// Parses a token.
  ///
  /// - Throws: `Refusal`, also for an unsupported algorithm.
  init(_ text: Substring) throws(Refusal) {
    guard text.utf8.count <= Self.sizeLimit else { throw Refusal("The JWT is too long.") }
    let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map {
      Substring($0)
    }
    guard parts.count == 3, let header = Self.object(parts[0]), let payload = Self.object(parts[1]),
      let signature = Base64.bytes(url: parts[2])
    else { throw Refusal("It is no JWT.") }
    guard let algorithm = header["alg"]?.stringValue.flatMap(SigningKey.Algorithm.init) else {
      throw Refusal("The JWT's alg is not RS256, ES256 or EdDSA.")
    }
    // RFC 7515, section 4.1.11: a recipient must reject extensions that it does not understand.
    if header["crit"] != nil { throw Refusal("The JWT has crit.") }
    if let id = header["kid"], id.stringValue == nil { throw Refusal("The JWT's kid is no text.") }
    self.algorithm = algorithm
    keyID = header["kid"]?.stringValue
    self.payload = payload
    self.signature = signature
    message = Array("\(parts[0]).\(parts[1])".utf8)
  }

  private static func object(_ text: Substring) -> JSONValue? {
    guard let bytes = Base64.bytes(url: text), let value = try? JSONValue(parsing: bytes),
      value.members != nil
    else { return nil }
    return value
  }

  /// Whether `key` has the token's algorithm and signed it.
  func isSigned(by key: SigningKey) -> Bool {
    key.algorithm == algorithm && key.verifies(signature, of: message)
  }

  /// The claims, checked against the issuer, the audience and the time in milliseconds since 1970.
  ///
  /// - Throws: `Refusal` if a claim does not match, or the token is not valid at this time.
  func claims(issuer: String, audience: String, at now: Int64) throws(Refusal) -> ProvenIdentity {
    guard payload["iss"]?.stringValue == issuer else { throw Refusal("The JWT is of another issuer.") }
    let audiences = payload["aud"]?.elements ?? payload["aud"].map { [$0] } ?? []
    guard audiences.contains(.string(audience)) else { throw Refusal("The JWT is for another audience.") }
    let seconds = Double(now) / 1000
    guard let expiry = try time("exp") else { throw Refusal("The JWT has no exp.") }
    if expiry + Self.skew <= seconds { throw Refusal("The JWT has expired.") }
    if let start = try time("nbf"), start - Self.skew > seconds {
      throw Refusal("The JWT is not valid yet.")
    }
    guard let subject = payload["sub"]?.stringValue, (1...255).contains(subject.utf8.count),
      !subject.utf8.contains(0)
    else { throw Refusal("The JWT's sub has not 1 to 255 bytes.") }
    let issued = try time("iat") ?? 0
    // One of the future would outlive a revocation.
    if issued - Self.skew > seconds { throw Refusal("The JWT's iat is in the future.") }
    return ProvenIdentity(
      identity: Identity(issuer: issuer, subject: subject),
      name: Self.accountName(payload["preferred_username"]?.stringValue),
      client: Self.deviceName(payload["azp"]?.stringValue ?? payload["client_id"]?.stringValue),
      issuedAt: Int64(exactly: (issued * 1000).rounded()) ?? 0)
  }

  /// A claim that is a number of seconds since 1970; nil if absent.
  private func time(_ claim: String) throws(Refusal) -> Double? {
    switch payload[claim] {
    case nil: return nil
    case .integer(let seconds)?: return Double(seconds)
    case .real(let seconds)?: return seconds
    default: throw Refusal("The JWT's \(claim) is no number.")
    }
  }

  /// Derives an account name from the provider's name for a user; `user` if no character is allowed.
  static func accountName(_ text: String?) -> String {
    let kept = (text ?? "").lowercased().prefix { $0 != "@" }.utf8.filter { byte in
      (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || [0x2D, 0x2E, 0x5F].contains(byte)
    }
    let name = String(decoding: kept.drop { [0x2D, 0x2E, 0x5F].contains($0) }.prefix(40), as: UTF8.self)
    return name.isEmpty ? "user" : name
  }

  private static func deviceName(_ text: String?) -> String {
    guard let text, (1...64).contains(text.unicodeScalars.count), !text.utf8.contains(0) else { return "jwt" }
    return text
  }
}
