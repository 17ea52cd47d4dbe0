import HoldfastCore
import Testing

@Suite("JSON writer")
struct JSONWriterTests {
  @Test("commas, keys and values come out compact")
  func shape() {
    let title = JSONKeyFragment("ti\"tle")
    var writer = JSONWriter(capacity: 0)
    writer.beginObject()
    writer.key("a"); writer.int64(1)
    writer.key(title); writer.string("x")
    writer.key(named: "é"); writer.beginArray()
    writer.null(); writer.bool(true); writer.beginObject(); writer.endObject();
    writer.rawValue(Array("[0]".utf8))
    writer.doubleOrNull(.infinity); writer.doubleOrNull(.nan); writer.beginArray(); writer.endArray()
    writer.endArray()
    writer.key("z"); writer.bool(false)
    writer.endObject()
    #expect(text(writer.bytes) == #"{"a":1,"ti\"tle":"x","é":[null,true,{},[0],null,null,[]],"z":false}"#)
    #expect(writer.withBytes { $0.count } == writer.count)
    writer.removeAll()
    writer.int64(7)
    #expect(text(writer.bytes) == "7")
  }

  @Test("only what must be escaped is escaped")
  func escapes() {
    var writer = JSONWriter()
    writer.string("\"\\/\u{8}\u{C}\n\r\t\u{0}\u{1F}\u{7F}é\u{2028}")
    #expect(text(writer.bytes) == #""\"\\/\b\f\n\r\t\u0000\u001f"# + "\u{7F}é\u{2028}\"")
  }

  @Test("an escape at any place of a string of any length round-trips, through every growth of the buffer")
  func places() throws {
    for length in 0..<72 {
      for place in 0...length {
        var value = String(repeating: "a", count: place)
        value += "\u{1}\"" + String(repeating: "\u{2}", count: length - place)
        var writer = JSONWriter(capacity: 0)
        writer.string(value)
        #expect(try JSONReader.read(writer.bytes) { try $0.readString() } == value)
      }
    }
  }

  @Test("bytes of any length come out as the same text, wherever a byte is that is not copied as it is")
  func bytesOfAnyLength() throws {
    for special in ["a", "\"", "\u{1F}", "é"] {
      for length in 0..<100 {
        for place in 0...length {
          let value =
            String(repeating: "b", count: place) + special + String(repeating: "c", count: length - place)
          var writer = JSONWriter(capacity: 0)
          Array(value.utf8).withUnsafeBufferPointer { writer.string(utf8: $0) }
          #expect(try JSONReader.read(writer.bytes) { try $0.readString() } == value)
        }
      }
    }
  }

  @Test("a text is the same whether its array was large enough or not, and an error of its writing is thrown")
  func textInPlace() throws {
    for capacity in [0, 64, 300, 1000] {
      let (bytes, count) = try JSONWriter.text(capacity: capacity) { writer in
        writer.beginArray()
        for number in 0..<100 { writer.int64(Int64(number)) }
        writer.endArray()
        return writer.count
      }
      #expect(text(bytes) == "[\((0..<100).map(String.init).joined(separator: ","))]")
      #expect(count == bytes.count)
    }
    #expect(throws: CancellationError.self) {
      try JSONWriter.text(capacity: 64) { writer in
        writer.string(String(repeating: "a", count: 100))
        throw CancellationError()
      }
    }
  }

  @Test("bytes that are not UTF-8 become U+FFFD, so that the text stays valid")
  func repair() throws {
    for (count, bytes) in JSONGrammarTests.badUTF8.enumerated() {
      var writer = JSONWriter()
      let column = [UInt8](repeating: 0x61, count: 4 * count) + bytes + Array("\"after".utf8)
      column.withUnsafeBufferPointer { writer.string(utf8: $0) }
      let back = try JSONReader.read(writer.bytes) { try $0.readString() }
      #expect(back == String(decoding: column, as: UTF8.self) && back.contains("\u{FFFD}"))
    }
    var writer = JSONWriter()
    writer.string(utf8: UnsafeBufferPointer(start: nil, count: 0))
    #expect(text(writer.bytes) == "\"\"")
  }

  @Test("integers of every size read back exactly")
  func integers() throws {
    var random = SeededRandom(seed: 1)
    for shift in 0..<64 {
      for _ in 0..<50 {
        let value = Int64(bitPattern: random.next()) >> Int64(shift)
        var writer = JSONWriter()
        writer.int64(value)
        #expect(text(writer.bytes) == "\(value)")
        #expect(try JSONReader.read(writer.bytes) { try $0.readInt64() } == value)
      }
    }
  }

  @Test("doubles of random bits, and near powers of ten, read back as the same double")
  func doubles() throws {
    var random = SeededRandom(seed: 2)
    var values: [Double] = [
      0, -0.0, 0.1, 1, 1e16, 1e22, 1e23, .leastNonzeroMagnitude, .leastNormalMagnitude,
      .greatestFiniteMagnitude, 1 / 3,
    ]
    values += (0..<50_000).map { _ in Double(bitPattern: random.next()) }.filter(\.isFinite)
    values += (0..<10_000).map { _ in
      Double(Int64.random(in: -10_000_000...10_000_000, using: &random)) / 1000
    }
    for value in values {
      var writer = JSONWriter(capacity: 0)
      writer.double(value)
      let back = try JSONReader.read(writer.bytes) { try $0.readDouble() }
      // Minus zero is written as 0.
      if back.bitPattern != (value == 0 ? 0 : value).bitPattern {
        Issue.record("\(value) came back as \(back)")
      }
    }
  }

  private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}
