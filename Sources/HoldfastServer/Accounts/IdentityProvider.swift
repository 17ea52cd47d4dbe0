import HoldfastConcurrency
import HoldfastCore
import HoldfastHTTP
import HoldfastService

/// An identity provider whose JWTs are taken.
public struct IdentityProviderConfiguration: Sendable {
  /// What `iss` must be.
  public var issuer: String
  /// What `aud` must be, or have among others.
  public var audience: String
  /// Gives the provider's key set (RFC 7517) as JSON, nil when it can't be had now. May take its time; called on a thread for this alone.
  public var keys: @Sendable () -> [UInt8]?

  /// A provider of its parts.
  public init(issuer: String, audience: String, keys: @escaping @Sendable () -> [UInt8]?) {
    self.issuer = issuer
    self.audience = audience
    self.keys = keys
  }
}

/// Checks JWTs with the keys of the provider, which are kept, and asked for again when they are old or one is unknown. Source: docs/IDENTITY.md,
/// section 5.
///
/// @unchecked Sendable: what is variable is touched under the lock alone.
final class IdentityProvider: @unchecked Sendable {
  /// What is found of a token.
  enum Finding {
    case good(JWT.Claims)
    /// The keys have to be asked for; then it is to be checked again.
    case needsKeys
    case refused(String)
  }

  /// So long keys are not asked for again, in milliseconds, whatever kid is unknown.
  private static let pause: Int64 = 30_000
  /// After so long they are, whatever is known.
  private static let age: Int64 = 600_000

  private let configuration: IdentityProviderConfiguration
  private let log: @Sendable (String) -> Void
  private let lock = Lock()
  private var keys: [SigningKey] = []
  /// When they were asked for last; nil before the first time.
  private var asked: Int64?

  init(_ configuration: IdentityProviderConfiguration, log: @escaping @Sendable (String) -> Void) {
    self.configuration = configuration
    self.log = log
  }

  /// Checks a token, without waiting for anything.
  func check(_ text: Substring, at now: Int64) -> Finding {
    do throws(JWT.Refusal) {
      let token = try JWT(text)
      // What the signature can't mend need not be asked for.
      let claims = try token.claims(issuer: configuration.issuer, audience: configuration.audience, at: now)
      let (keys, asked) = lock.hold { (self.keys, self.asked) }
      guard let asked, (0...Self.age).contains(now - asked) else { return .needsKeys }
      let named = keys.filter { key in
        key.algorithm == token.algorithm && (token.keyID == nil || key.id == token.keyID)
      }
      if named.isEmpty {
        if now - asked >= Self.pause { return .needsKeys }
        throw JWT.Refusal("The JWT's key is unknown.")
      }
      guard named.contains(where: { token.isSigned(by: $0) }) else {
        throw JWT.Refusal("The JWT's signature is wrong.")
      }
      return .good(claims)
    } catch { return .refused(error.reason) }
  }

  /// Asks for the keys, unless somebody just did. The last good ones stay when there is no answer. One thread at a time.
  func ask(at now: Int64) {
    let isDue = lock.hold { asked.map { !(0..<Self.pause).contains(now - $0) } ?? true }
    guard isDue else { return }
    let found = configuration.keys().flatMap { SigningKey.keys(of: $0) } ?? []
    if found.isEmpty {
      log("The identity provider's keys could not be had, or none of them is of use: the last ones stay.")
    }
    lock.hold {
      if !found.isEmpty { keys = found }
      asked = now
    }
  }
}
