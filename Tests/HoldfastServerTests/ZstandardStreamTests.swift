import Testing

@testable import HoldfastServer

@Suite struct ZstandardStreamTests {
  @Test(
    "what was compressed comes back whole, also where it ends with a buffer (I2)",
    arguments: [0, 1, 131_071, 131_072, 131_073, 262_144, 1_048_576])
  func whole(_ size: Int) throws {
    let content = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 / 997) }
    var compressed: [UInt8] = []
    try ZstandardCompressor().add(content, isLast: true) { compressed += $0 }
    let decompressor = try ZstandardDecompressor()
    var back: [UInt8] = []
    try compressed.withUnsafeBytes { try decompressor.add($0) { back += $0 } }
    #expect(decompressor.hasEnded)
    #expect(back == content)
  }
}
