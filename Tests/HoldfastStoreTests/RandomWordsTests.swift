import HoldfastService
import Testing

@Suite("Random words")
struct RandomWordsTests {
  @Test("many ids take each random byte once, and the source is asked for more and more at a time")
  func blocks() {
    var asked: [Int] = []
    var next: UInt8 = 0
    var words = RandomWords { count in
      asked.append(count)
      return (0..<count).map { _ in
        next &+= 1
        return next
      }
    }
    let first = words.pair()
    #expect(first.0.littleEndian == 0x0807_0605_0403_0201 && first.1.littleEndian == 0x100F_0E0D_0C0B_0A09)
    #expect(asked == [16])
    let second = words.pair()
    #expect(second.0.littleEndian == 0x1817_1615_1413_1211 && second.1.littleEndian == 0x201F_1E1D_1C1B_1A19)
    for _ in 0..<1000 { _ = words.pair() }
    #expect(asked.prefix(4) == [16, 32, 64, 128] && asked.max() == 1024)
    #expect(asked.reduce(0, +) < 16 * 1002 + 1024)
  }
}
