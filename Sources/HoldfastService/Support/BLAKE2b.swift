/// BLAKE2b. Source: RFC 7693.
enum BLAKE2b {
  private static let blockSize = 128

  /// The hash of a message, of so many bytes.
  ///
  /// - Parameters:
  ///   - key: at most 64 bytes; none unless given.
  ///   - size: 1 to 64.
  static func hash(_ message: [UInt8], key: [UInt8] = [], size: Int = 32) -> [UInt8] {
    var state = start
    state[0] ^= 0x0101_0000 ^ UInt64(key.count) << 8 ^ UInt64(size)
    var input = key.isEmpty ? [] : key + [UInt8](repeating: 0, count: blockSize - key.count)
    input += message
    let count = input.count
    let blocks = max(1, (count + blockSize - 1) / blockSize)
    input += [UInt8](repeating: 0, count: blocks * blockSize - count)
    input.withUnsafeBytes { bytes in
      for block in 0..<blocks {
        let end = min((block + 1) * blockSize, count)
        compress(
          &state, UnsafeRawBufferPointer(rebasing: bytes[block * blockSize..<(block + 1) * blockSize]),
          end: UInt64(end), isLast: block == blocks - 1)
      }
    }
    return (0..<size).map { UInt8(truncatingIfNeeded: state[$0 / 8] >> UInt64($0 % 8 * 8)) }
  }

  /// Takes one block. Source: section 3.2.
  private static func compress(
    _ state: inout [UInt64], _ block: UnsafeRawBufferPointer, end: UInt64, isLast: Bool
  ) {
    withUnsafeTemporaryAllocation(of: UInt64.self, capacity: 32) { words in
      let (v, m) = (words, UnsafeMutableBufferPointer(rebasing: words[16...]))
      for index in 0..<8 {
        v[index] = state[index]
        v[index + 8] = start[index]
      }
      v[12] ^= end
      if isLast { v[14] = ~v[14] }
      for index in 0..<16 {
        m[index] = UInt64(littleEndian: block.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self))
      }
      for round in 0..<12 {
        let order = round % 10 * 16
        for column in 0..<4 {
          mix(
            v, column, column + 4, column + 8, column + 12, m[pick(order, column)], m[pick(order, column, 1)])
        }
        for row in 0..<4 {
          mix(
            v, row, (row + 1) % 4 + 4, (row + 2) % 4 + 8, (row + 3) % 4 + 12, m[pick(order, row + 4)],
            m[pick(order, row + 4, 1)])
        }
      }
      for index in 0..<8 { state[index] ^= v[index] ^ v[index + 8] }
    }
  }

  private static func pick(_ order: Int, _ pair: Int, _ second: Int = 0) -> Int {
    Int(orders[order + 2 * pair + second])
  }

  /// The function G. Source: section 3.1.
  private static func mix(
    _ v: UnsafeMutableBufferPointer<UInt64>, _ a: Int, _ b: Int, _ c: Int, _ d: Int, _ x: UInt64, _ y: UInt64
  ) {
    v[a] = v[a] &+ v[b] &+ x
    v[d] = rotate(v[d] ^ v[a], 32)
    v[c] = v[c] &+ v[d]
    v[b] = rotate(v[b] ^ v[c], 24)
    v[a] = v[a] &+ v[b] &+ y
    v[d] = rotate(v[d] ^ v[a], 16)
    v[c] = v[c] &+ v[d]
    v[b] = rotate(v[b] ^ v[c], 63)
  }

  private static func rotate(_ word: UInt64, _ bits: UInt64) -> UInt64 {
    word &>> bits | word &<< (64 &- bits)
  }

  private static let start: [UInt64] = [
    0x6a09_e667_f3bc_c908, 0xbb67_ae85_84ca_a73b, 0x3c6e_f372_fe94_f82b, 0xa54f_f53a_5f1d_36f1,
    0x510e_527f_ade6_82d1, 0x9b05_688c_2b3e_6c1f, 0x1f83_d9ab_fb41_bd6b, 0x5be0_cd19_137e_2179,
  ]

  /// The table SIGMA, row after row.
  private static let orders: [UInt8] = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
    14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3,
    11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4,
    7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8,
    9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13,
    2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9,
    12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11,
    13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10,
    6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5,
    10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0,
  ]
}
