import CSodium
import HoldfastCore
import HoldfastServer
import Synchronization

/// An identity provider with keys of Ed25519, whose set is asked for as an address would be.
final class TestProvider: Sendable {
  static let issuer = "https://id.example.org"

  private struct Pair {
    var open: [UInt8]
    var secret: [UInt8]
  }

  private let pairs = Mutex<TextMap<Pair>>([:])
  /// What is given as the key set in place of the provider's own; nil in it for no answer.
  let answer = Mutex<[UInt8]??>(nil)
  /// How often the set was asked for.
  let questions = Mutex<Int>(0)

  init() { addKey("one") }

  var configuration: IdentityProviderConfiguration {
    IdentityProviderConfiguration(issuer: Self.issuer, audience: "holdfast") { [self] in
      questions.withLock { $0 += 1 }
      return answer.withLock { $0 } ?? set
    }
  }

  /// The key set.
  var set: [UInt8] {
    let keys = pairs.withLock { pairs in
      pairs.sorted { $0.key < $1.key }.map { id, pair -> JSONValue in
        ["kty": "OKP", "crv": "Ed25519", "kid": .string(id), "x": .string(Self.base64(pair.open))]
      }
    }
    let value: JSONValue = ["keys": .array(keys)]
    return value.bytes
  }

  /// Takes another key in, and lets all others go.
  func addKey(_ id: String) {
    var pair = Pair(open: Array(repeating: 0, count: 32), secret: Array(repeating: 0, count: 64))
    crypto_sign_keypair(&pair.open, &pair.secret)
    pairs.withLock { [pair] in $0 = [id: pair] }
  }

  /// A token.
  ///
  /// - Parameters:
  ///   - key: the id of the key that signs.
  ///   - header: in place of the right one.
  func token(_ claims: JSONValue, key: String = "one", header: String? = nil) -> String {
    token(text: String(decoding: claims.bytes, as: UTF8.self), key: key, header: header)
  }

  func token(text claims: String, key: String = "one", header: String? = nil) -> String {
    let header = header ?? #"{"alg":"EdDSA","typ":"JWT","kid":"\#(key)"}"#
    let message = Self.base64(Array(header.utf8)) + "." + Self.base64(Array(claims.utf8))
    var signature = [UInt8](repeating: 0, count: 64)
    let secret = pairs.withLock { $0[key]?.secret } ?? Array(repeating: 1, count: 64)
    crypto_sign_detached(&signature, nil, Array(message.utf8), UInt64(message.utf8.count), secret)
    return message + "." + Self.base64(signature)
  }

  /// The claims of a good token.
  static func claims(
    _ subject: String = "s-1", at now: Int64, _ more: [JSONValue.Member] = []
  ) -> JSONValue {
    let usual: [JSONValue.Member] = [
      .init("iss", .string(issuer)), .init("aud", "holdfast"), .init("sub", .string(subject)),
      .init("exp", .integer(now / 1000 + 300)), .init("iat", .integer(now / 1000)),
    ]
    let given = TextSet(more.map(\.name))
    return .object(usual.filter { !given.contains($0.name) } + more.filter { $0.value != .null })
  }

  static func base64(_ bytes: [UInt8]) -> String {
    let room = sodium_base64_encoded_len(bytes.count, sodium_base64_VARIANT_URLSAFE_NO_PADDING)
    var text = [CChar](repeating: 0, count: room)
    sodium_bin2base64(&text, room, bytes, bytes.count, sodium_base64_VARIANT_URLSAFE_NO_PADDING)
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
