/// Incremental SHA-256. Source: FIPS 180-4, section 6.2.
package struct SHA256: Sendable {
  private var state = SIMD8<UInt32>(
    0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19)
  /// The bytes of an incomplete block, and how many they are.
  private var block = SIMD64<UInt8>()
  private var filled = 0
  private var count: UInt64 = 0

  /// Begins a hash.
  package init() {}

  /// The 32 bytes of the hash of some bytes.
  package static func hash(of bytes: [UInt8]) -> [UInt8] {
    var hash = SHA256()
    hash.add(bytes)
    return hash.hash()
  }

  /// Adds bytes.
  package mutating func add(_ bytes: [UInt8]) { bytes.withUnsafeBytes { add($0) } }

  /// Adds bytes.
  package mutating func add(_ bytes: UnsafeRawBufferPointer) {
    count &+= UInt64(bytes.count)
    var place = 0
    if filled > 0 {
      place = fill(bytes)
      if filled < 64 { return }
      compressBlock()
    }
    let whole = (bytes.count - place) & ~63
    compress(UnsafeRawBufferPointer(rebasing: bytes[place..<place + whole]))
    _ = fill(UnsafeRawBufferPointer(rebasing: bytes[(place + whole)...]))
  }

  /// The 32 bytes of the hash of everything added.
  package func hash() -> [UInt8] {
    var last = self
    last.block[filled] = 0x80
    for index in (filled + 1)..<64 { last.block[index] = 0 }
    if filled >= 56 {
      last.compressBlock()
      last.block = SIMD64()
    }
    withUnsafeMutableBytes(of: &last.block) {
      $0.storeBytes(of: (count &* 8).bigEndian, toByteOffset: 56, as: UInt64.self)
    }
    last.compressBlock()
    return [UInt8](unsafeUninitializedCapacity: 32) { bytes, count in
      for index in 0..<8 {
        UnsafeMutableRawBufferPointer(bytes).storeBytes(
          of: last.state[index].bigEndian, toByteOffset: 4 * index, as: UInt32.self)
      }
      count = 32
    }
  }

  /// Adds bytes to the incomplete block, as many as it has room for.
  private mutating func fill(_ bytes: UnsafeRawBufferPointer) -> Int {
    let part = UnsafeRawBufferPointer(rebasing: bytes.prefix(64 - filled))
    withUnsafeMutableBytes(of: &block) {
      UnsafeMutableRawBufferPointer(rebasing: $0[filled...]).copyMemory(from: part)
    }
    filled += part.count
    return part.count
  }

  private mutating func compressBlock() {
    let block = block
    withUnsafeBytes(of: block) { compress($0) }
    filled = 0
  }

  /// Processes complete blocks.
  private mutating func compress(_ blocks: UnsafeRawBufferPointer) {
    let start = state
    state = Self.constants.withUnsafeBufferPointer { k in
      withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 64) { w in
        var state = start
        for block in stride(from: 0, to: blocks.count, by: 64) {
          for index in 0..<16 {
            w[index] = UInt32(
              bigEndian: blocks.loadUnaligned(fromByteOffset: block + 4 * index, as: UInt32.self))
          }
          Self.expand(w)
          state &+= Self.round(state, w, k)
        }
        return state
      }
    }
  }

  private static func expand(_ w: UnsafeMutableBufferPointer<UInt32>) {
    for index in 16..<64 {
      let (x, y) = (w[index - 15], w[index - 2])
      let s0 = rotate(x, 7) ^ rotate(x, 18) ^ (x >> 3)
      let s1 = rotate(y, 17) ^ rotate(y, 19) ^ (y >> 10)
      w[index] = w[index - 16] &+ s0 &+ w[index - 7] &+ s1
    }
  }

  private static func round(
    _ state: SIMD8<UInt32>, _ w: UnsafeMutableBufferPointer<UInt32>, _ k: UnsafeBufferPointer<UInt32>
  ) -> SIMD8<UInt32> {
    var (a, b, c, d) = (state[0], state[1], state[2], state[3])
    var (e, f, g, h) = (state[4], state[5], state[6], state[7])
    for index in 0..<64 {
      let s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)
      let first = h &+ s1 &+ ((e & f) ^ (~e & g)) &+ k[index] &+ w[index]
      let s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)
      let second = s0 &+ ((a & b) ^ (a & c) ^ (b & c))
      h = g
      g = f
      f = e
      e = d &+ first
      d = c
      c = b
      b = a
      a = first &+ second
    }
    return SIMD8(a, b, c, d, e, f, g, h)
  }

  private static func rotate(_ word: UInt32, _ bits: UInt32) -> UInt32 {
    word &>> bits | word &<< (32 &- bits)
  }

  private static let constants: [UInt32] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
    0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
    0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
    0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
  ]
}
