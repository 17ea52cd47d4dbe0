import HoldfastConcurrency
import HoldfastCore
import HoldfastHTTP
import HoldfastService

/// An identity provider whose JWTs the server accepts.
public struct IdentityProviderConfiguration: Sendable {
  /// The required value of `iss`.
  public var issuer: String
  /// The required value of `aud`, or one of its values.
  public var audience: String
  /// Fetches the provider's key set (RFC 7517) as JSON; nil if unavailable. It may block: it runs on a thread of its own.
  public var keys: @Sendable () -> [UInt8]?

  /// Creates a configuration.
  public init(issuer: String, audience: String, keys: @escaping @Sendable () -> [UInt8]?) {
    self.issuer = issuer
    self.audience = audience
    self.keys = keys
  }

  /// The keys that are of use, fetched now; none if they can't be had.
  var usableKeys: [SigningKey] { keys().flatMap { SigningKey.keys(of: $0) } ?? [] }
}

/// Checks JWTs with the cached keys of the provider. The keys are fetched again when they are old or a key id is unknown. Source:
/// docs/IDENTITY.md, section 5.
///
/// @unchecked Sendable: mutable state is accessed only with the lock held.
final class IdentityProvider: @unchecked Sendable {
  /// The result of checking a token.
  enum Finding {
    case good(ProvenIdentity)
    /// The keys must be fetched before the token can be checked.
    case needsKeys
    case refused(Problem)
  }

  /// The minimum time between two fetches, in milliseconds, even if a key id is unknown.
  private static let pause: Int64 = 30_000
  /// The maximum age of the keys, in milliseconds.
  private static let age: Int64 = 600_000

  private let configuration: IdentityProviderConfiguration
  private let log: @Sendable (String) -> Void
  private let lock = Lock()
  private var keys: [SigningKey] = []
  /// Whether the last fetch had no answer: nothing is known of a key that is not there.
  private var hasFailed = false
  /// The time of the last fetch; nil before the first.
  private var asked: Int64?

  init(_ configuration: IdentityProviderConfiguration, log: @escaping @Sendable (String) -> Void) {
    self.configuration = configuration
    self.log = log
  }

  /// Checks a token without blocking.
  func check(_ text: Substring, at now: Int64) -> Finding {
    do throws(JWT.Refusal) {
      let token = try JWT(text)
      // Claims first: a token with wrong claims causes no fetch.
      let claims = try token.claims(issuer: configuration.issuer, audience: configuration.audience, at: now)
      let (keys, asked, hasFailed) = lock.hold { (self.keys, self.asked, self.hasFailed) }
      guard let asked, (0...Self.age).contains(now - asked) else { return .needsKeys }
      let named = keys.filter { key in
        key.algorithm == token.algorithm && (token.keyID == nil || key.id == token.keyID)
      }
      if named.isEmpty {
        if now - asked >= Self.pause { return .needsKeys }
        if hasFailed {
          let rest = Int((asked + Self.pause - now) / 1000) + 1
          return .refused(Problem(.busy, "The identity provider does not answer.", retryAfter: rest))
        }
        throw JWT.Refusal("The JWT's key is unknown.")
      }
      guard named.contains(where: { token.isSigned(by: $0) }) else {
        throw JWT.Refusal("The JWT's signature is wrong.")
      }
      return .good(claims)
    } catch { return .refused(Problem(.tokenInvalid, error.reason)) }
  }

  /// Fetches the keys, unless another thread just did. If that fails, the last keys stay in use. One thread at a time.
  func ask(at now: Int64) {
    let isDue = lock.hold { asked.map { !(0..<Self.pause).contains(now - $0) } ?? true }
    guard isDue else { return }
    let answer = configuration.keys().flatMap { SigningKey.keys(of: $0) }
    let found = answer ?? []
    if found.isEmpty {
      log("The identity provider's keys could not be had, or none of them is of use: the last ones stay.")
    }
    lock.hold {
      if !found.isEmpty { keys = found }
      (asked, hasFailed) = (now, answer == nil)
    }
  }
}
