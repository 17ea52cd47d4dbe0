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
    func bytes(_ pair: (UInt64, UInt64)) -> [UInt8] {
      [pair.0, pair.1].flatMap { word in withUnsafeBytes(of: word) { Array($0) } }
    }
    let first = words.pair()
    #expect(bytes(first) == Array(1...16))
    #expect(asked == [16])
    let second = words.pair()
    #expect(bytes(second) == Array(17...32))
    for _ in 0..<1000 { _ = words.pair() }
    #expect(asked.prefix(4) == [16, 32, 64, 128])
    #expect(asked.max() == 1024)
    let most: Int = 16 * 1002 + 1024
    #expect(asked.reduce(0, +) < most)
  }
}
