import HoldfastCore
import Testing

@Suite("Null on the wire")
struct NullTests {
  @Test(
    "null is no value in a column of every type, JSON too, so that both databases hold the same (I7)",
    arguments: ColumnType.allCases)
  func null(type: ColumnType) throws {
    let reference = type == .reference ? Reference(to: "others") : nil
    let column = ColumnSchema("column", type, reference: reference)
    let value = try JSONReader.read("null") { try column.value(from: &$0) }
    #expect(value == .null)
  }
}
