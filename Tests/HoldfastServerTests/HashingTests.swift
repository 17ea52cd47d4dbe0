import CSodium
import HoldfastCore
import HoldfastDigest
import Testing

@testable import HoldfastService

@Suite("The hashes of the rules agree with libsodium's")
struct HashingTests {
  private var random = SeededBytes()

  @Test("SHA-256, of texts of every length around a block")
  mutating func sha256() {
    for count in 0...200 {
      let message = random.take(count)
      var hash = [UInt8](repeating: 0, count: 32)
      crypto_hash_sha256(&hash, message, UInt64(count))
      #expect(SHA256.hash(of: message) == hash)
    }
  }

  @Test("SHA-256 in pieces, as files are hashed")
  mutating func pieces() {
    for count in 0...200 {
      let message = random.take(count)
      let digest = ContentDigest()
      var rest = message[...]
      while !rest.isEmpty {
        let sizes: [Int] = [1, 64, 63, 7]
        let size = sizes.first { $0 <= rest.count && ($0 + rest.count).isMultiple(of: 2) } ?? 1
        digest.add(Array(rest.prefix(size)))
        rest = rest.dropFirst(size)
      }
      digest.add([])
      #expect(digest.finish() == SHA256.hash(of: message))
    }
  }

  @Test("HMAC-SHA256")
  mutating func messageCodes() {
    for count in 0...200 {
      let (message, key) = (random.take(count), random.take(count % 65))
      var code = [UInt8](repeating: 0, count: 32)
      var state = crypto_auth_hmacsha256_state()
      crypto_auth_hmacsha256_init(&state, key, key.count)
      crypto_auth_hmacsha256_update(&state, message, UInt64(count))
      crypto_auth_hmacsha256_final(&state, &code)
      #expect(MessageCode(key: key).code(of: [message]) == code)
      #expect(
        MessageCode(key: key).code(of: [Array(message.prefix(7)), Array(message.dropFirst(7))]) == code)
      #expect(MessageCode.isSame(code, code))
      for bit in 0..<256 {
        var other = code
        other[bit / 8] ^= 1 << UInt8(bit % 8)
        #expect(!MessageCode.isSame(code, other))
      }
    }
  }

  @Test("Base64 is written as by RFC 4648, and only its own spelling is read (I10)")
  mutating func base64() {
    for count in 0...100 {
      let bytes = random.take(count)
      var text = [CChar](
        repeating: 0, count: sodium_base64_encoded_len(count, sodium_base64_VARIANT_ORIGINAL))
      sodium_bin2base64(&text, text.count, bytes, count, sodium_base64_VARIANT_ORIGINAL)
      #expect(Array(Base64.text(bytes).utf8) == text.dropLast().map { UInt8(bitPattern: $0) })
      let url = Base64.urlText(bytes)
      #expect(Base64.bytes(url: url) == bytes)
      #expect(Base64.bytes(url: url + "=") == nil)
      for last in "AQgw_-=+/ é" where !url.isEmpty {
        let other = url.dropLast() + String(last)
        if let read = Base64.bytes(url: other) { #expect(Base64.urlText(read) == other) }
      }
    }
  }

}

/// Bytes that are the same in each run.
private struct SeededBytes {
  private var state: UInt32 = 1

  mutating func take(_ count: Int) -> [UInt8] {
    (0..<count).map { _ in
      state = state &* 1_664_525 &+ 1_013_904_223
      return UInt8(truncatingIfNeeded: state >> 24)
    }
  }
}
