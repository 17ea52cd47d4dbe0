import Testing

@testable import Holdfast

@Suite("Turning records into rows")
struct RowEncoderTests {
  private struct Sample: Record {
    static let table = "samples"
    var id = "1"
    var text: String?
    var flag: Bool?
    var count: Int32?
    var price: Float?
    var tags: [String]?
  }

  @Test("an optional that has a value is kept as plainly as one that must have it")
  func optionals() throws {
    let sample = Sample(text: "Milk", flag: true, count: 3, price: 1.5, tags: ["a"])
    #expect(
      try RowEncoder.encode(sample).map(\.value)
        == [.text("1"), .text("Milk"), .integer(1), .integer(3), .real(1.5), .text(#"["a"]"#)])
  }

  @Test("an optional that is nil is null, not left out")
  func nils() throws {
    #expect(try RowEncoder.encode(Sample()).map(\.value) == [.text("1"), .null, .null, .null, .null, .null])
  }
}
