import Testing

@testable import HoldfastCore

@Suite("SHA-256")
struct SHA256Tests {
  private func hash(_ parts: [[UInt8]]) -> String {
    var hash = SHA256()
    for part in parts { hash.add(part) }
    return hash.hash().map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  @Test("is that of the examples of FIPS 180-4 and of a million bytes")
  func examples() {
    #expect(hash([]) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    #expect(hash([Array("abc".utf8)]) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    #expect(
      hash([Array("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq".utf8)])
        == "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1")
    #expect(
      hash([[UInt8](repeating: 0x61, count: 1_000_000)])
        == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
  }

  @Test("is the same in whatever parts the bytes come")
  func parts() {
    let bytes = (0..<300).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    let whole = hash([bytes])
    for size in [1, 3, 55, 56, 63, 64, 65, 128, 299] {
      let parts = stride(from: 0, to: 300, by: size).map { Array(bytes[$0..<min($0 + size, 300)]) }
      #expect(hash(parts) == whole)
    }
  }
}
